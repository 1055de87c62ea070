// A GET in HTTP/1.0 over a bare socket, for answers that HTTP parsers refuse: the status line "ICY 200 OK" of old
// Shoutcast servers, and what lenient-answer.ts lists. Used only after such an answer. Same guard, same timeouts; the
// connection serves one request. Audio and probe threads.

import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { portOf } from "../../lib/parse-url.ts";
import { TLS_OFFER } from "../../network/guarded-dispatcher.ts";
import type { OutboundGuard } from "../../network/outbound-guard.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import type { HttpAnswer, HttpBody } from "./http-answer.ts";
import { interruptedError } from "./http-errors.ts";
import { LenientFraming, type LenientHead, parseHead } from "./lenient-answer.ts";

interface ShoutcastRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Bounds the time until the headers are there, and ends the body when it fires later. */
  readonly signal: AbortSignal;
  readonly guard: OutboundGuard;
  readonly clock: Clock;
  readonly settings: WorkerSettings["http"];
  /** Address to send from, or undefined for the machine's own. */
  readonly localAddress: string | undefined;
  /** Gives time slices for bodies in chunks. */
  readonly budget?: TrackBudget | undefined;
}

/** As undici's (guarded-dispatcher.ts). */
const HEAD_BYTES_MAX = 32 * 1024;
/** Bytes of the empty line at a head's end that may arrive in an earlier chunk. */
const HEAD_END_BYTES_MAX = 3;
/** Announcements (1xx) before the answer; RFC 9110 section 15.2 allows them unasked. */
const INFORMATIONAL_MAX = 16;

/**
 * Sends the request and reads the head. Rejects with whatever the socket said, an Error on a bad head, or the reason of
 * a signal that has fired already.
 */
export async function requestShoutcast(request: ShoutcastRequest): Promise<HttpAnswer> {
  const { url, signal } = request;
  signal.throwIfAborted();
  const socket = openSocket(request);
  const stopListening = onAbort(signal, () => {
    socket.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  });
  socket.once("close", stopListening);
  // A caller waiting for data gets the error from the iterator; later errors have no other listener.
  socket.on("error", () => undefined);
  // As undici writes it: bytes that are no ASCII, as in cookies, go back as they came.
  socket.write(requestHead(url, request.headers), "latin1");
  const received = new Received(socket);
  try {
    const head = await readAnswerHead(received);
    return { url, status: head.status, headers: head.headers, body: new SocketBody(request, received, head) };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function openSocket({ url, guard, settings, clock, localAddress }: ShoutcastRequest): Socket {
  guard.checkHost(url.hostname);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isTls = url.protocol === "https:";
  const bound = localAddress === undefined ? {} : { localAddress, family: isIP(localAddress) };
  const target = { host, port: Number(portOf(url)), lookup: guard.lookup, ...bound };
  const servername = isIP(host) === 0 ? host : "";
  const socket = isTls ? connectTls({ ...TLS_OFFER, ...target, servername }) : connectTcp(target);
  const timer = clock.after(settings.connectTimeoutMs, () => socket.destroy(new Error("connecting took too long")));
  socket.once(isTls ? "secureConnect" : "connect", () => timer.cancel());
  socket.once("close", () => timer.cancel());
  return socket;
}

function requestHead(url: URL, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `${name}: ${value.replace(/[^\t\x20-\x7e\x80-\xff]/g, " ")}\r\n`,
  );
  return `GET ${url.pathname}${url.search} HTTP/1.0\r\nHost: ${url.host}\r\n${lines.join("")}\r\n`;
}

/** Bytes from a socket, of which some may be put back. */
class Received {
  readonly socket: Socket;
  readonly #chunks: AsyncIterator<Uint8Array, undefined>;
  #rest: Uint8Array | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    this.#chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>; // No encoding is set: bytes.
  }

  get hasRest(): boolean {
    return this.#rest !== undefined;
  }

  /** Undefined at the end. */
  async next(): Promise<Uint8Array | undefined> {
    const rest = this.#rest;
    this.#rest = undefined;
    return rest ?? (await this.#chunks.next()).value;
  }

  putBack(data: Uint8Array): void {
    this.#rest = data.length > 0 ? data : undefined;
  }
}

async function readAnswerHead(received: Received): Promise<LenientHead> {
  for (let count = 0; count <= INFORMATIONAL_MAX; count++) {
    const head = parseHead(await readHead(received));
    if (head.status === 101) throw new Error("the server wants to speak another protocol, unasked");
    if (head.status >= 200) return head;
  }
  throw new Error("the server announces an answer again and again and does not give it");
}

/** Reads each byte once: a server may send them one at a time. The head is Latin-1, as HTTP parsers return it. */
async function readHead(received: Received): Promise<string> {
  const head = Buffer.alloc(HEAD_BYTES_MAX);
  let sizeBytes = 0;
  while (sizeBytes < HEAD_BYTES_MAX) {
    const value = await received.next();
    if (value === undefined) throw closedError();
    const part = value.subarray(0, HEAD_BYTES_MAX - sizeBytes);
    head.set(part, sizeBytes);
    const from = Math.max(0, sizeBytes - HEAD_END_BYTES_MAX);
    const end = /\r?\n\r?\n/.exec(head.toString("latin1", from, sizeBytes + part.length));
    if (end !== null) {
      const endBytes = from + end.index + end[0].length;
      received.putBack(value.subarray(endBytes - sizeBytes));
      return head.toString("latin1", 0, from + end.index);
    }
    sizeBytes += part.length;
  }
  throw new Error("the head of the answer is too long");
}

function closedError(): Error {
  return Object.assign(new Error("the server closed the connection before it answered"), { code: "ECONNRESET" });
}

/** What follows the head, up to its end. */
class SocketBody implements HttpBody {
  readonly #request: ShoutcastRequest;
  readonly #received: Received;
  readonly #framing: LenientFraming;

  constructor(request: ShoutcastRequest, received: Received, { framing }: LenientHead) {
    this.#request = request;
    this.#received = received;
    this.#framing = new LenientFraming(framing);
  }

  async next(timeoutMs: number = this.#request.settings.socketTimeoutMs): Promise<Uint8Array | undefined> {
    const { budget, url } = this.#request;
    while (!this.#framing.isOver) {
      // Received bytes are parsed now: a stretch of work, charged to the track.
      if (this.#received.hasRest) await budget?.yield();
      const data = await this.#receive(timeoutMs);
      if (data === undefined) {
        if (this.#framing.mayEnd) return undefined;
        throw interruptedError(url, new Error("the connection ended before the body did"));
      }
      try {
        const { takenBytes, body } = this.#step(data);
        this.#received.putBack(data.subarray(takenBytes));
        if (body.length > 0) return body;
      } finally {
        budget?.pause();
      }
    }
    this.cancel();
    return undefined;
  }

  cancel(): void {
    this.#received.socket.destroy();
  }

  #step(data: Uint8Array): ReturnType<LenientFraming["step"]> {
    try {
      return this.#framing.step(data);
    } catch (error) {
      this.cancel();
      throw interruptedError(this.#request.url, error);
    }
  }

  async #receive(timeoutMs: number): Promise<Uint8Array | undefined> {
    const { clock, url } = this.#request;
    const { socket } = this.#received;
    const timer = clock.after(timeoutMs, () => socket.destroy(new Error(`no data for ${timeoutMs} ms`)));
    try {
      return await this.#received.next();
    } catch (error) {
      throw interruptedError(url, error);
    } finally {
      timer.cancel();
    }
  }
}
