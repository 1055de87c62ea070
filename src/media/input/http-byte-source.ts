// A file or station on a web server as a byte source: reads ahead within a bound, retains recent bytes, and resumes a
// lost or stalled connection at the byte where it stopped while buffered bytes keep playing. Audio thread.

import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { describeUrl } from "../../lib/parse-url.ts";
import type { Logger } from "../../log/log.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import type { ByteSource } from "./byte-source.ts";
import { ByteWindow } from "./byte-window.ts";
import { DripWatch } from "./drip-watch.ts";
import type { HttpBody } from "./http-answer.ts";
import type { HttpClient } from "./http-client.ts";
import { interruptedError, isHangUp, isUnreadable, isWorthRetrying } from "./http-errors.ts";
import { HttpResource } from "./http-resource.ts";
import type { IcyStation } from "./icy-metadata.ts";
import { closedError, READ_BYTES_MAX, readTooLargeError } from "./read-bounds.ts";
import { RequestPace } from "./request-pace.ts";
import { RetryBudget } from "./retry-budget.ts";
import { InputReplacedError, type TrackLink } from "./track-link.ts";

interface HttpByteSourceOptions {
  readonly client: HttpClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly readAheadBytesMax: number;
  /** Memory for retained bytes is reserved from it. */
  readonly budget: TrackBudget;
  /** Ends the opening. Later `close` does. */
  readonly signal: AbortSignal;
  /** Link of a site's track, which gives the address of its bytes. */
  readonly link?: TrackLink | undefined;
  /** Ask without a range and without titles: the bytes sent as a range made no sense. */
  readonly isBare?: boolean | undefined;
  /**
   * Called when the link leads to other bytes now: the bytes received so far can be read, and no more follow. Later
   * reads fail with the InputReplacedError.
   */
  readonly onReplaced?: ((link: TrackLink) => void) | undefined;
}

/** Size of the beginning that stays readable for good (byte-source.ts). */
const HEAD_BYTES = 64 * 1024;
/** Read-ahead until the bit rate is known (`aimReadAhead`): 10 s of a stream with 205 kbit/s. */
const FIRST_READ_AHEAD_BYTES = 256 * 1024;
/** Size of the part behind the reader that stays readable (byte-source.ts). */
const BACK_BYTES = 64 * 1024;
/**
 * `BACK_BYTES` once the track is open, if the server supports ranges: going back is rare then, and requests the bytes
 * again and keeps more from then on.
 */
const RANDOM_ACCESS_BACK_BYTES = 16 * 1024;
/** `HEAD_BYTES` in that case: enough to check that it is still the same file. */
const RANDOM_ACCESS_HEAD_BYTES = 4 * 1024;
/** A jump ahead of up to this is received and thrown away: cheaper than a new connection. */
const GAP_BYTES_MAX = 256 * 1024;
/** A reader that is silent this long while the read-ahead is full (a pause) loses its connection until it reads on. */
const IDLE_MS = 30_000;
/** How long a connection may be silent that could not be reopened: longer, as it is the only one there is. */
const LAST_CONNECTION_SILENCE_MS = 60_000;
/** Fill of the read-ahead below which receiving resumes: rarely and in large pieces instead of at every packet. */
const WAKE_BELOW = 0.75;
/** Reads waiting at once; a reader that asks for more is broken. */
const WAITING_READS_MAX = 64;

type State =
  /** No connection; the next read that needs one opens it. */
  | { readonly kind: "idle" }
  | { readonly kind: "receiving"; readonly abort: AbortController }
  /** Everything up to the end has been received; only a read elsewhere opens a connection. */
  | { readonly kind: "ended" }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "closed" };

interface WaitingRead {
  readonly positionBytes: number;
  readonly lengthBytes: number;
  readonly resolve: (data: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

export class HttpByteSource implements ByteSource {
  readonly declared: Pick<ByteSource, "sizeBytes" | "isRandomAccess">;
  readonly #options: HttpByteSourceOptions;
  readonly #resource: HttpResource;
  readonly #window: ByteWindow;
  readonly #retries: RetryBudget;
  readonly #waiting: WaitingRead[] = [];
  /** Buffer for the first bytes, and how many of them are filled. */
  #head: Uint8Array;
  #headBytes = 0;
  #backBytes = BACK_BYTES;
  #state: State = { kind: "idle" };
  /** Where the reader is: the read-ahead counts from here. */
  #readerBytes = 0;
  #readAheadBytes: number;
  #lastReadAtMs: number;
  /** End of a station's first body: the end of the data if it turns out to be a file. */
  #firstBodyEndBytes: number | undefined;
  /** Wakes the receiver that waits for the reader to move on. */
  #wakeReceiver: () => void = () => undefined;

  /** @throws NodeError when it cannot be reached, is not there, or answers nonsense */
  static async open(url: URL, options: HttpByteSourceOptions): Promise<HttpByteSource> {
    const abort = new AbortController();
    options.signal.throwIfAborted();
    const stopListening = onAbort(options.signal, () => abort.abort(options.signal.reason));
    try {
      const { isBare } = options;
      const access = { client: options.client, pace: new RequestPace(options.budget), link: options.link };
      const { resource, body } = await options.budget.upstream.await(
        HttpResource.open(access, url, { signal: abort.signal, isBare }),
      );
      const source = new HttpByteSource(resource, options);
      source.#receiveFrom(abort, body);
      return source;
    } catch (error) {
      abort.abort(error);
      throw error;
    } finally {
      stopListening();
    }
  }

  private constructor(resource: HttpResource, options: HttpByteSourceOptions) {
    this.#options = options;
    this.#resource = resource;
    this.declared = { sizeBytes: resource.sizeBytes, isRandomAccess: resource.isRandomAccess };
    this.#retries = new RetryBudget(options.clock);
    this.#window = new ByteWindow(options.budget.memory);
    const headBytes = Math.min(HEAD_BYTES, resource.sizeBytes ?? HEAD_BYTES);
    options.budget.memory.take(headBytes, "the beginning of the file");
    this.#head = new Uint8Array(headBytes);
    this.#readAheadBytes = Math.min(FIRST_READ_AHEAD_BYTES, options.readAheadBytesMax);
    this.#lastReadAtMs = options.clock.now();
  }

  get sizeBytes(): number | undefined {
    return this.#resource.sizeBytes;
  }

  get isRandomAccess(): boolean {
    return this.#resource.isRandomAccess;
  }

  get mimeType(): string | undefined {
    return this.#resource.mimeType;
  }

  get version(): string | undefined {
    return this.#resource.version;
  }

  /** Address after redirects. May hold a user name and password: for loading again, not for logs. */
  get url(): string {
    return this.#resource.url.href;
  }

  get isLive(): boolean {
    return this.#resource.isLive;
  }

  /** The station, if it is one, with the title running now. */
  get station(): IcyStation | undefined {
    return this.#resource.station;
  }

  /** True when the server sent the beginning as a range: asked bare, it may send other bytes. */
  get isPart(): boolean {
    return this.#resource.isPart;
  }

  async read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    if (this.#state.kind === "closed") throw closedError();
    const data = this.readBuffered(positionBytes, lengthBytes);
    if (data !== undefined) return data;
    if (lengthBytes > READ_BYTES_MAX) throw readTooLargeError(lengthBytes);
    if (this.#waiting.length >= WAITING_READS_MAX) {
      throw new NodeError("internal", `more than ${WAITING_READS_MAX} reads of one input at once`);
    }
    const arrival = new Promise<Uint8Array>((resolve, reject) => {
      this.#waiting.push({ positionBytes, lengthBytes, resolve, reject });
      this.#serve();
    });
    return this.#options.budget.upstream.await(arrival);
  }

  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    this.#lastReadAtMs = this.#options.clock.now();
    return this.#state.kind === "closed" ? undefined : this.#take(positionBytes, lengthBytes);
  }

  close(): void {
    const state = this.#state;
    if (state.kind === "closed") return;
    this.#state = { kind: "closed" };
    if (state.kind === "receiving") state.abort.abort(closedError());
    this.#wakeReceiver();
    this.#rejectWaiting(closedError());
    this.#window.reset(0);
    this.#options.budget.memory.release(this.#head.length);
    this.#head = new Uint8Array(0);
    this.#headBytes = 0;
  }

  /** Returns these bytes from memory, up to the end of the data. Moves the reader. */
  #take(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    const sizeBytes = this.#resource.sizeBytes;
    const neededBytes = sizeBytes === undefined ? lengthBytes : Math.min(lengthBytes, sizeBytes - positionBytes);
    if (neededBytes <= 0) return new Uint8Array(0);
    const endBytes = positionBytes + neededBytes;
    const data = this.#window.read(positionBytes, neededBytes);
    if (data !== undefined) {
      this.#moveReader(endBytes);
      return data;
    }
    if (endBytes <= this.#headBytes) return this.#head.subarray(positionBytes, endBytes);
    return undefined;
  }

  #moveReader(positionBytes: number): void {
    this.#readerBytes = positionBytes;
    this.#window.dropBefore(positionBytes - this.#backBytes);
    const aheadBytes = this.#window.endBytes - positionBytes;
    if (aheadBytes <= this.#readAheadBytes * WAKE_BELOW) this.#wakeReceiver();
  }

  aimReadAhead(sizeBytes: number): void {
    this.#readAheadBytes = Math.min(sizeBytes, this.#options.readAheadBytesMax);
    if (this.isRandomAccess) this.#keepLess();
  }

  #keepLess(): void {
    const { memory } = this.#options.budget;
    this.#backBytes = RANDOM_ACCESS_BACK_BYTES;
    const head = this.#head.slice(0, RANDOM_ACCESS_HEAD_BYTES);
    memory.release(this.#head.length - head.length);
    this.#head = head;
    this.#headBytes = Math.min(this.#headBytes, head.length);
  }

  expectEnd(): void {
    if (!this.#resource.isLive) return;
    this.#resource.expectEnd();
    if (this.#firstBodyEndBytes === undefined) return;
    // The beginning may have been received a second time: discard it.
    this.#resource.setEnd(this.#firstBodyEndBytes);
    if (this.#state.kind === "receiving") this.#state.abort.abort(closedError());
    if (this.#state.kind !== "closed") this.#state = { kind: "ended" };
    this.#serve();
  }

  /** Answers waiting reads in their order as far as possible and steers towards the first that is left. */
  #serve(): void {
    for (let read = this.#waiting[0]; read !== undefined; read = this.#waiting[0]) {
      const data = this.#take(read.positionBytes, read.lengthBytes);
      if (data !== undefined) {
        this.#waiting.shift();
        read.resolve(data);
        continue;
      }
      const refusal = this.#steerTowards(read);
      if (refusal === undefined) return;
      this.#waiting.shift();
      read.reject(refusal);
    }
  }

  /** Sees to it that these bytes will come; otherwise answers why they cannot. */
  #steerTowards({ positionBytes }: WaitingRead): unknown {
    if (this.#state.kind === "failed") return this.#state.error;
    const gapBytesMax = this.#resource.acceptsRanges ? GAP_BYTES_MAX : Number.POSITIVE_INFINITY;
    const isWithinGap =
      positionBytes >= this.#window.startBytes && positionBytes <= this.#window.endBytes + gapBytesMax;
    if (!isWithinGap) {
      if (!this.isRandomAccess) return notSeekableError(positionBytes);
      if (positionBytes >= this.#readerBytes - BACK_BYTES) this.#backBytes = BACK_BYTES;
      this.#hangUp();
      this.#state = { kind: "idle" };
      this.#window.reset(positionBytes);
      this.#retries.reset();
    }
    this.#moveReader(positionBytes);
    // However full the read-ahead is: the awaited read may be larger.
    this.#wakeReceiver();
    if (this.#state.kind === "idle") this.#receiveFrom(new AbortController(), undefined);
    return undefined;
  }

  #rejectWaiting(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  /** Starts receiving at the end of the window, from `body` if one is open there already. */
  #receiveFrom(abort: AbortController, body: HttpBody | undefined): void {
    this.#state = { kind: "receiving", abort };
    this.#receive(abort.signal, body).catch((error) => {
      if (abort.signal.aborted) return;
      this.#state = { kind: "failed", error };
      if (error instanceof InputReplacedError) this.#options.onReplaced?.(error.link);
      this.#serve();
    });
  }

  /**
   * Receives until the end, an abort or an idle reader. Reopens lost connections; rejects when the retries are used up.
   */
  async #receive(signal: AbortSignal, openBody: HttpBody | undefined): Promise<void> {
    for (let body = openBody; ; body = undefined) {
      const startBytes = this.#window.endBytes;
      try {
        body ??= await this.#resource.openAt(this.#window.endBytes, this.#head.subarray(0, this.#headBytes), signal);
        await this.#receiveBody(body, signal);
        if (signal.aborted || this.#noteEnd()) return;
        if (this.#resource.isStepEnd(this.#window.endBytes)) continue;
        throw interruptedError(this.#resource.url, new Error("the connection ended before the data did"));
      } catch (error) {
        body?.cancel();
        if (signal.aborted) return;
        const isUseless = body !== undefined && body === openBody && this.#window.endBytes === 0;
        // Some servers break off what they answer to a range, before its first byte.
        if (isUseless && isHangUp(error)) this.#resource.askBare();
        else if (this.#window.endBytes === startBytes && isHangUp(error)) this.#resource.noteEmptyBody();
        // What the parser cannot read is read leniently the next time, from its beginning if need be.
        const isReopenable = this.#resource.isReopenable || isUseless || isUnreadable(error);
        if (!isReopenable || !isWorthRetrying(error)) throw error;
        if (!(await this.#retries.waitForTry(signal))) throw error;
        this.#options.budget.upstream.countReopened();
        this.#options.logger.debug("input connection lost: reopening it", {
          url: describeUrl(this.#resource.url),
          positionBytes: this.#window.endBytes,
          tryNumber: this.#retries.triesUsed,
          error,
        });
      }
    }
  }

  /** Moves one body into the window, as fast as there is space. */
  async #receiveBody(body: HttpBody, signal: AbortSignal): Promise<void> {
    const drips = new DripWatch(this.#options.clock);
    while (await this.#waitForSpace(signal)) {
      const chunk = await body.next(this.#resource.isReopenable ? undefined : LAST_CONNECTION_SILENCE_MS);
      if (chunk === undefined || signal.aborted) return;
      this.#append(chunk);
      this.#options.budget.upstream.countReceived(this.#resource.url, chunk.length);
      this.#retries.addProgress(chunk.length);
      this.#resource.noteProgress(chunk.length);
      this.#serve();
      if (signal.aborted) return;
      if (drips.note(chunk.length, { isAwaited: this.#waiting.length > 0 })) {
        throw interruptedError(this.#resource.url, new Error("the data comes too slowly to play"));
      }
    }
  }

  #append(chunk: Uint8Array): void {
    const atBytes = this.#window.endBytes;
    const data = chunk.subarray(0, Math.max(0, (this.#resource.sizeBytes ?? Number.POSITIVE_INFINITY) - atBytes));
    if (atBytes === this.#headBytes) {
      const part = data.subarray(0, this.#head.length - atBytes);
      this.#head.set(part, atBytes);
      this.#headBytes += part.length;
    }
    this.#window.append(data);
    this.#window.dropBefore(this.#readerBytes - this.#backBytes);
  }

  /** True when the body's end is the end of the data. */
  #noteEnd(): boolean {
    const { sizeBytes, isLive, acceptsRanges } = this.#resource;
    // Ranges of unknown total size: only the answer to the next range tells.
    if (sizeBytes === undefined && acceptsRanges) return false;
    if (isLive) this.#firstBodyEndBytes ??= this.#window.endBytes;
    if (isLive || (sizeBytes !== undefined && this.#window.endBytes < sizeBytes)) return false;
    if (sizeBytes === undefined) this.#resource.setEnd(this.#window.endBytes);
    this.#state = { kind: "ended" };
    this.#serve();
    return true;
  }

  /** Waits while the read-ahead is full. False: aborted, or the reader has been silent for so long that we hang up. */
  async #waitForSpace(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted && this.#isFull()) {
      const isIdle = await this.#waitForReader();
      if (signal.aborted) return false;
      if (isIdle && this.#isFull()) this.#hangUp();
    }
    return !signal.aborted;
  }

  /** True if a later read can reopen a connection that is closed now. */
  get #canHangUp(): boolean {
    return this.#resource.isLive || this.#resource.isRandomAccess;
  }

  #hangUp(): void {
    if (this.#state.kind !== "receiving" || !this.#canHangUp) return;
    this.#state.abort.abort(closedError());
    this.#state = { kind: "idle" };
  }

  #isFull(): boolean {
    const first = this.#waiting[0];
    const neededBytes = first === undefined ? 0 : first.positionBytes + first.lengthBytes;
    const untilBytes = Math.max(this.#readerBytes + this.#readAheadBytes, neededBytes);
    return this.#window.endBytes >= untilBytes;
  }

  /** Resolves when the reader moves (false) or, where that matters, has not read for IDLE_MS (true). */
  #waitForReader(): Promise<boolean> {
    return new Promise((resolve) => {
      const { clock } = this.#options;
      const silentMs = Math.max(0, clock.now() - this.#lastReadAtMs);
      const onSilence = (): void => {
        this.#wakeReceiver = () => undefined;
        resolve(clock.now() - this.#lastReadAtMs >= IDLE_MS);
      };
      // A connection that cannot be reopened stays open however long the pause: only the reader, or the end, wakes it.
      const timer = this.#canHangUp ? clock.after(Math.max(1, IDLE_MS - silentMs), onSilence) : undefined;
      this.#wakeReceiver = () => {
        this.#wakeReceiver = () => undefined;
        timer?.cancel();
        resolve(false);
      };
    });
  }
}

function notSeekableError(positionBytes: number): NodeError {
  return new NodeError("input-not-seekable", `reading at byte ${positionBytes} again: this server cannot send parts`);
}
