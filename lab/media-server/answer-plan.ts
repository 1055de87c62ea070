// A plan of the media server's answer to one request: its content, its framing, and its faults.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../src/lib/clock.ts";
import { pause } from "../../src/lib/pause.ts";

/** A fault while a body is sent, at a byte offset of that body. */
type BodyFault =
  /** The connection is closed after this many bytes. */
  | { readonly kind: "cut"; readonly afterBytes: number }
  /** Nothing is sent for `forMs`, then it continues; without `forMs` until `MediaServer.release`. */
  | {
      readonly kind: "stall";
      readonly afterBytes: number;
      readonly forMs: number | undefined;
      /** All before it has been sent. */
      readonly onBegun?: () => void;
    }
  /** Sent evenly at this rate, the first bytes at once. */
  | { readonly kind: "slow"; readonly bytesPerSecond: number; readonly afterBytes?: number };

export interface AnswerPlan {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** `sized` sends Content-Length, `chunked` does not, `close` ends the body with the connection. */
  readonly framing: "sized" | "chunked" | "close";
  /** Answers range requests for the body with 206. */
  readonly acceptsRanges: boolean;
  readonly fault: BodyFault | undefined;
  /** The body is written to the socket as the whole answer, head included, and the connection is closed. */
  readonly isRaw?: boolean | undefined;
}

/** Closes the connection without an answer. */
export const DROP = "drop";
/** Keeps the connection open without an answer. */
export const HANG = "hang";

export type Answer = AnswerPlan | typeof DROP | typeof HANG;

/** A plan that sends these bytes as a well-behaved server would. */
export function plainPlan(body: Uint8Array, mimeType: string | undefined): AnswerPlan {
  const headers = mimeType === undefined ? {} : { "content-type": mimeType };
  return { status: 200, headers, body, framing: "sized", acceptsRanges: true, fault: undefined };
}

/** The bytes of a whole answer as they are, for servers that do not keep to HTTP. */
export function rawPlan(...parts: readonly (Uint8Array | string)[]): AnswerPlan {
  const body = Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : part)));
  return { ...plainPlan(body, undefined), isRaw: true };
}

/** A short text with a status. */
export function statusPlan(status: number, headers: Readonly<Record<string, string>> = {}): AnswerPlan {
  const body = Buffer.from(`status ${status}\n`);
  return { ...plainPlan(body, "text/plain"), status, headers, acceptsRanges: false };
}

const BLOCK_BYTES = 16 * 1024;

interface SendOptions {
  /** The clock for faults. */
  readonly clock: Clock;
  /** Resolves when stalled answers may continue. */
  readonly released: () => Promise<void>;
}

/** Carries out a plan. Resolves when everything was written to the socket or the client has disconnected. */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  options: SendOptions & { readonly answer: Answer },
): Promise<void> {
  const { answer } = options;
  if (answer === HANG) return;
  if (answer === DROP) return void request.socket.destroy();
  if (answer.isRaw === true && answer.body instanceof Uint8Array) return void request.socket.end(answer.body);
  const { status, headers, body } = applyRange(answer, request.headers);
  if (body instanceof Uint8Array && answer.framing === "sized") headers["content-length"] ??= String(body.length);
  if (answer.framing === "close") response.shouldKeepAlive = false;
  response.useChunkedEncodingByDefault = answer.framing === "chunked";
  response.writeHead(status, headers);
  response.flushHeaders();
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  for await (const part of withFault(body, answer.fault, options)) {
    if (part === undefined) return void request.socket.destroy();
    // Waits until it has been flushed, so that a cut loses nothing that was sent before it.
    const sent = new Promise<void>((resolve) => response.write(part, () => resolve()));
    await Promise.race([sent, closed]);
    if (response.destroyed) return;
  }
  response.end();
}

interface RangedAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** RFC 9110 section 14 for one `bytes=a-b` range; anything else gets the whole body. */
function applyRange(plan: AnswerPlan, requestHeaders: IncomingHttpHeaders): RangedAnswer {
  const { status, body } = plan;
  const { range, "if-range": ifRange } = requestHeaders;
  const headers: Record<string, string> = { ...plan.headers };
  if (!plan.acceptsRanges || !(body instanceof Uint8Array) || status !== 200) return { status, headers, body };
  headers["accept-ranges"] = "bytes";
  const match = /^bytes=(\d+)-(\d*)$/.exec(range ?? "");
  const isOtherVersion = ifRange !== undefined && ifRange !== headers.etag && ifRange !== headers["last-modified"];
  if (match === null || isOtherVersion) return { status, headers, body };
  const first = Number(match[1]);
  const last = Math.min(match[2] === "" ? Number.POSITIVE_INFINITY : Number(match[2]), body.length - 1);
  if (first > last) {
    headers["content-range"] = `bytes */${body.length}`;
    return { status: 416, headers, body: new Uint8Array(0) };
  }
  headers["content-range"] = `bytes ${first}-${last}/${body.length}`;
  return { status: 206, headers, body: body.subarray(first, last + 1) };
}

/** The body in blocks, with its fault; undefined means: cut here. */
async function* withFault(
  body: Uint8Array | AsyncIterable<Uint8Array>,
  fault: BodyFault | undefined,
  { clock, released }: SendOptions,
): AsyncGenerator<Uint8Array | undefined> {
  let sentBytes = 0;
  const faultAtBytes = fault === undefined || fault.kind === "slow" ? Number.POSITIVE_INFINITY : fault.afterBytes;
  for await (const block of blocksOf(body)) {
    const untilFaultBytes = faultAtBytes - sentBytes;
    if (untilFaultBytes >= 0 && untilFaultBytes < block.length) {
      if (untilFaultBytes > 0) yield block.subarray(0, untilFaultBytes);
      if (fault?.kind === "cut") return yield undefined;
      if (fault?.kind === "stall") {
        fault.onBegun?.();
        await (fault.forMs === undefined ? released() : pause(clock, fault.forMs));
      }
      yield block.subarray(untilFaultBytes);
    } else {
      if (fault?.kind === "slow" && sentBytes >= (fault.afterBytes ?? 0))
        await pause(clock, (block.length / fault.bytesPerSecond) * 1000);
      yield block;
    }
    sentBytes += block.length;
  }
}

async function* blocksOf(body: Uint8Array | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (!(body instanceof Uint8Array)) return yield* body;
  for (let at = 0; at < body.length; at += BLOCK_BYTES) yield body.subarray(at, at + BLOCK_BYTES);
}
