// One request and its answer on a dispatcher, in bounded steps: however a site splits its body, only so much is parsed
// at once, and no bytes are received before they are requested. Between HttpClient and undici. Audio thread.

import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Clock } from "../../lib/clock.ts";
import type { SocketFlow, SocketPortions } from "../../network/socket-portions.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import type { HttpAnswer, HttpBody } from "./http-answer.ts";
import { interruptedError } from "./http-errors.ts";

interface ExchangeOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the request, and the body when it fires later. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Portions of the dispatcher's sockets. */
  readonly portions: SocketPortions;
  /** How long the body may be silent. */
  readonly timeoutMs: number;
  /** Gives the time slices. */
  readonly budget: TrackBudget;
}

/** Handed out and received in one go: whatever is done with it is done in one stretch. */
const PIECES_BYTES_MAX = 16 * 1024;
/** Beyond so many pieces nothing more is taken from the socket: a body may come in chunks of one byte. */
const PIECES_MAX = 64;
/** Announcements (1xx) before the answer; servers send one or two. */
const INFORMATIONAL_MAX = 16;

/** Sends a GET and waits for the head of the answer. Rejects with what undici says, or the reason of the signal. */
export function exchange(dispatcher: Dispatcher, options: ExchangeOptions): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const { url, headers } = options;
    const body = new ExchangeBody(options, { resolve, reject });
    dispatcher.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: "GET",
        headers,
        // Our own timers, on the injected clock, do this.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      body,
    );
  });
}

interface Waiting {
  readonly resolve: (answer: HttpAnswer) => void;
  readonly reject: (error: unknown) => void;
}

class ExchangeBody implements HttpBody, Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  /** The caller waiting for the head. */
  readonly #waiting: Waiting;
  #controller: Dispatcher.DispatchController | undefined;
  /** Flow of the answer's socket, once the answer has started. */
  #flow: SocketFlow | undefined;
  #informationalCount = 0;
  /** Received and not asked for yet. */
  #pieces: Uint8Array[] = [];
  #piecesBytes = 0;
  #isEnded = false;
  #failure: { readonly error: unknown } | undefined;
  /** Wakes `next`. */
  #wake: () => void = () => undefined;
  readonly #onAbort = (): void => this.#fail(this.#options.signal.reason);

  constructor(options: ExchangeOptions, waiting: Waiting) {
    this.#options = options;
    this.#waiting = waiting;
    const { signal } = options;
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure !== undefined) controller.abort(asError(this.#failure.error));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#flow = this.#options.portions.current;
    if (status >= 200) {
      this.#waiting.resolve({ url: this.#options.url, status, headers, body: this });
    } else if (++this.#informationalCount > INFORMATIONAL_MAX) {
      this.#fail(new Error("the server announces an answer again and again and does not give it"));
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#pieces.push(chunk);
    this.#piecesBytes += chunk.length;
    this.#flow?.notePiece();
    if (this.#pieces.length >= PIECES_MAX || this.#piecesBytes >= PIECES_BYTES_MAX) this.#flow?.hold();
    this.#wake();
  }

  onResponseEnd(): void {
    if (this.#flow?.isCut === true) this.#failure ??= { error: new Error("the connection broke within the body") };
    this.#isEnded = true;
    this.#finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#failure ??= { error };
    this.#waiting.reject(this.#failure.error);
    this.#finish();
  }

  async next(timeoutMs: number = this.#options.timeoutMs): Promise<Uint8Array | undefined> {
    const { budget } = this.#options;
    if (this.#pieces.length === 0 && this.#flow?.isHeld === true) {
      // Buffered bytes are parsed now: a stretch of work, charged to the track.
      await budget.yield();
      // The socket may have finished, and serve another request.
      if (!this.#isEnded) this.#flow?.pump();
      // A reader that reads ahead may wait for its consumer next: that is not work.
      budget.pause();
    }
    if (this.#pieces.length === 0 && !this.#isEnded && this.#failure === undefined) {
      budget.pause();
      await this.#somethingComes(timeoutMs);
    }
    if (this.#pieces.length > 0) return this.#takePieces();
    if (this.#failure !== undefined) throw interruptedError(this.#options.url, this.#failure.error);
    return undefined;
  }

  cancel(): void {
    // undici keeps the connection when the body has been received whole, as with short answers.
    if (!this.#isEnded) this.#fail(new Error("the body is no longer needed"));
    this.#pieces = [];
    this.#piecesBytes = 0;
  }

  #somethingComes(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.after(timeoutMs, () => this.#fail(new Error(`no data for ${timeoutMs} ms`)));
      this.#wake = () => {
        this.#wake = () => undefined;
        timer.cancel();
        resolve();
      };
    });
  }

  #takePieces(): Uint8Array {
    const [first, second] = this.#pieces;
    const taken = first !== undefined && second === undefined ? first : Buffer.concat(this.#pieces, this.#piecesBytes);
    this.#pieces = [];
    this.#piecesBytes = 0;
    return taken;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    // A connecting request is not over: undici continues, and reports when it is connected.
    if (this.#controller === undefined) return;
    // No effect once the head has arrived.
    this.#waiting.reject(this.#failure.error);
    this.#finish();
    this.#controller.abort(asError(error));
  }

  #finish(): void {
    // The next answer of the connection is not ours to hold.
    this.#flow?.release();
    this.#flow = undefined;
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#wake();
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
