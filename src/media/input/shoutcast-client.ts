// A GET in HTTP/1.0 over a bare socket, for old Shoutcast servers: they answer with the status line "ICY 200 OK", which
// HTTP parsers refuse. Used only after such an answer. Same guard, same timeouts. Audio thread.

import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import { onAbort } from "../../lib/on-abort.ts";
import type { OutboundGuard } from "../../network/outbound-guard.ts";
import type { HttpAnswer, HttpBody } from "./http-answer.ts";
import { interruptedError } from "./http-errors.ts";

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
}

const HEAD_BYTES_MAX = 32 * 1024;
/** Bytes of the empty line at a head's end that may arrive in an earlier chunk. */
const HEAD_END_BYTES_MAX = 3;
/** Real heads have ten lines. */
const HEAD_LINES_MAX = 256;

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
  socket.write(requestHead(url, request.headers));
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>; // No encoding is set: bytes.
  try {
    const { head, rest } = await readHead(chunks);
    const { status, headers } = parseHead(head);
    return { url, status, headers, body: new SocketBody(request, socket, { chunks, rest }) };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function openSocket({ url, guard, settings, clock, localAddress }: ShoutcastRequest): Socket {
  guard.checkHost(url.hostname);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isTls = url.protocol === "https:";
  const port = Number(url.port) || (isTls ? 443 : 80);
  const bound = localAddress === undefined ? {} : { localAddress, family: isIP(localAddress) };
  const target = { host, port, lookup: guard.lookup, ...bound };
  const socket = isTls ? connectTls({ ...target, servername: isIP(host) === 0 ? host : "" }) : connectTcp(target);
  const timer = clock.after(settings.connectTimeoutMs, () => socket.destroy(new Error("connecting took too long")));
  socket.once(isTls ? "secureConnect" : "connect", () => timer.cancel());
  socket.once("close", () => timer.cancel());
  return socket;
}

function requestHead(url: URL, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, " ")}\r\n`);
  return `GET ${url.pathname}${url.search} HTTP/1.0\r\nHost: ${url.host}\r\n${lines.join("")}\r\n`;
}

/** Reads each byte once: a server may send them one at a time. The head is Latin-1, as HTTP parsers return it. */
async function readHead(chunks: AsyncIterator<Uint8Array, undefined>): Promise<{ head: string; rest: Uint8Array }> {
  const head = Buffer.alloc(HEAD_BYTES_MAX);
  let sizeBytes = 0;
  while (sizeBytes < HEAD_BYTES_MAX) {
    const { value, done } = await chunks.next();
    if (done === true) throw new Error("the server closed the connection before it answered");
    const part = value.subarray(0, HEAD_BYTES_MAX - sizeBytes);
    head.set(part, sizeBytes);
    const from = Math.max(0, sizeBytes - HEAD_END_BYTES_MAX);
    const end = /\r?\n\r?\n/.exec(head.toString("latin1", from, sizeBytes + part.length));
    if (end !== null) {
      const endBytes = from + end.index + end[0].length;
      return { head: head.toString("latin1", 0, from + end.index), rest: value.subarray(endBytes - sizeBytes) };
    }
    sizeBytes += part.length;
  }
  throw new Error("the head of the answer is too long");
}

function parseHead(head: string): { status: number; headers: Record<string, string> } {
  const [statusLine = "", ...lines] = head.split(/\r?\n/, HEAD_LINES_MAX);
  const status = /^(?:ICY|HTTP\/1\.[01])\s+(\d{3})\b/.exec(statusLine)?.[1];
  if (status === undefined) throw new Error("the answer is neither HTTP nor Shoutcast");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase();
    if (name !== "" && !Object.hasOwn(headers, name)) headers[name] = line.slice(colon + 1).trim();
  }
  return { status: Number(status), headers };
}

/** Everything behind the head until the server closes. */
class SocketBody implements HttpBody {
  readonly #request: ShoutcastRequest;
  readonly #socket: Socket;
  readonly #chunks: AsyncIterator<Uint8Array, undefined>;
  /** Body bytes received in one chunk with the head. */
  #rest: Uint8Array | undefined;

  constructor(
    request: ShoutcastRequest,
    socket: Socket,
    begun: { chunks: AsyncIterator<Uint8Array, undefined>; rest: Uint8Array },
  ) {
    this.#request = request;
    this.#socket = socket;
    this.#chunks = begun.chunks;
    this.#rest = begun.rest.length > 0 ? begun.rest : undefined;
  }

  async next(timeoutMs: number = this.#request.settings.socketTimeoutMs): Promise<Uint8Array | undefined> {
    const rest = this.#rest;
    if (rest !== undefined) {
      this.#rest = undefined;
      return rest;
    }
    const { clock, url } = this.#request;
    const timer = clock.after(timeoutMs, () => this.#socket.destroy(new Error(`no data for ${timeoutMs} ms`)));
    try {
      return (await this.#chunks.next()).value;
    } catch (error) {
      throw interruptedError(url, error);
    } finally {
      timer.cancel();
    }
  }

  cancel(): void {
    this.#socket.destroy();
  }
}
