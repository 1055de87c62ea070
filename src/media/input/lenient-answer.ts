// Reads the answers that a strict HTTP parser refuses, where RFC 9110 and 9112 allow it or no harm can come of it: the
// status line of Shoutcast, unasked 1xx, a length that is repeated or stated beside chunks, blanks around the size of a
// chunk. The connection of such an answer is never used again, so nothing can be smuggled behind it. Pure, in bounded
// steps. Part of shoutcast-client.ts. Audio and probe threads.

import type { HttpHeaders } from "../../network/header-value.ts";
import { UNREADABLE_CODE } from "./http-errors.ts";

/** Head of an answer. */
export interface LenientHead {
  readonly status: number;
  /** Of those that are repeated the first, except for `set-cookie`. */
  readonly headers: HttpHeaders;
  readonly framing: BodyFraming;
}

/** How the end of a body is found. */
type BodyFraming =
  | { readonly kind: "chunked" }
  | { readonly kind: "sized"; readonly sizeBytes: number }
  | { readonly kind: "close" };

/** Real heads have ten lines. */
const HEAD_LINES_MAX = 256;
const SET_COOKIES_MAX = 50;
/** Digits of a chunk's size: up to 4 PiB. */
const CHUNK_SIZE = /^\s*([0-9a-f]{1,13})\s*(?:;.*)?$/is;
/** Size line of a chunk with its extensions, or one line behind the last chunk. */
const CHUNK_LINE_BYTES_MAX = 1024;
/** Lines behind the last chunk, and empty ones between chunks. */
const EXTRA_LINES_MAX = 64;
/** Received bytes that are decoded in one step: three hundred chunks at most. */
const STEP_BYTES = 2 * 1024;

/** Throws an Error unless it is the head of an HTTP/1 or Shoutcast answer whose length is unambiguous. */
export function parseHead(head: string): LenientHead {
  const [statusLine = "", ...lines] = head.split(/\r?\n/, HEAD_LINES_MAX);
  const [, protocol, status] = /^\s*(ICY|HTTP\/\d(?:\.\d)?)\s+(\d{3})\b/i.exec(statusLine) ?? [];
  if (status === undefined) throw unreadable("the answer is neither HTTP nor Shoutcast");
  const headers: Record<string, string | string[]> = {};
  const setCookies: string[] = [];
  let length: string | undefined;
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === "set-cookie" && setCookies.length < SET_COOKIES_MAX) setCookies.push(value);
    else if (name === "content-length") length = sameLength(length, value);
    else if (name !== "" && !Object.hasOwn(headers, name)) headers[name] = value;
  }
  if (setCookies.length > 0) headers["set-cookie"] = setCookies;
  if (length !== undefined) headers["content-length"] = length;
  const framing = protocol?.toUpperCase() === "ICY" ? ({ kind: "close" } as const) : framingOf(headers);
  // The length of what the chunks carry is theirs to say.
  if (framing.kind === "chunked") delete headers["content-length"];
  return { status: Number(status), headers, framing };
}

/** RFC 9110 section 8.6: a repeated length must be the same each time. What is no number (-1, or nothing) states none. */
function sameLength(before: string | undefined, value: string): string | undefined {
  const stated = value.split(",").flatMap((each) => /^\s*(\d+)\s*$/.exec(each)?.[1] ?? []);
  const first = before ?? stated[0];
  if (!stated.every((each) => each === first)) throw unreadable("the answer states several lengths");
  return first;
}

/** RFC 9112 section 6.3: chunks count more than a length. */
function framingOf(headers: HttpHeaders): BodyFraming {
  const { "transfer-encoding": coding, "content-length": length } = headers;
  if (typeof coding === "string" && /(?:^|,)\s*chunked\s*$/i.test(coding)) return { kind: "chunked" };
  return typeof length === "string" ? { kind: "sized", sizeBytes: Number(length) } : { kind: "close" };
}

function unreadable(reason: string): Error {
  return Object.assign(new Error(reason), { code: UNREADABLE_CODE });
}

/** Finds the end of a body, and removes what frames its bytes. */
export class LenientFraming {
  #kind: BodyFraming["kind"];
  /** Of the chunk, or of the body. */
  #bytesLeft: number;
  /** A size line, or one behind the last chunk, as far as it has come. */
  #line = "";
  #state: "size" | "data" | "trailer" | "over";
  #extraLines = 0;

  constructor(framing: BodyFraming) {
    this.#kind = framing.kind;
    this.#state = framing.kind === "chunked" ? "size" : "data";
    this.#bytesLeft = framing.kind === "sized" ? framing.sizeBytes : Number.POSITIVE_INFINITY;
    if (this.#bytesLeft === 0) this.#state = "over";
  }

  /** The body is complete: what follows does not belong to it. */
  get isOver(): boolean {
    return this.#state === "over";
  }

  /** The connection may end here. */
  get mayEnd(): boolean {
    // Some servers leave out the empty line behind the last chunk.
    return this.#kind === "close" || this.#state === "over" || this.#state === "trailer";
  }

  /**
   * One step through received bytes: how many of them it took, at least one, and the bytes of the body among them.
   * Throws an Error for chunks that cannot be read.
   */
  step(data: Uint8Array): { readonly takenBytes: number; readonly body: Uint8Array } {
    if (this.#kind !== "chunked" || (this.#state === "data" && this.#bytesLeft >= data.length)) {
      const body = data.subarray(0, this.#bytesLeft);
      this.#noteData(body.length);
      return { takenBytes: body.length, body };
    }
    const part = data.subarray(0, STEP_BYTES);
    const body = new Uint8Array(part.length);
    let bodyBytes = 0;
    let at = 0;
    while (at < part.length && this.#state !== "over") {
      if (this.#state === "data") {
        const piece = part.subarray(at, at + this.#bytesLeft);
        body.set(piece, bodyBytes);
        bodyBytes += piece.length;
        at += piece.length;
        this.#noteData(piece.length);
      } else {
        this.#noteLineByte(part[at]!);
        at++;
      }
    }
    return { takenBytes: at, body: body.subarray(0, bodyBytes) };
  }

  #noteData(sizeBytes: number): void {
    this.#bytesLeft -= sizeBytes;
    if (this.#bytesLeft > 0) return;
    this.#state = this.#kind === "chunked" ? "size" : "over";
  }

  #noteLineByte(byte: number): void {
    if (byte !== 0x0a) {
      this.#line += String.fromCharCode(byte);
      if (this.#line.length > CHUNK_LINE_BYTES_MAX) throw new Error("a chunk's size is unreadable");
      return;
    }
    const line = this.#line.replace(/\r$/, "");
    this.#line = "";
    if (this.#state === "trailer") {
      if (line === "" || ++this.#extraLines >= EXTRA_LINES_MAX) this.#state = "over";
    } else {
      this.#noteSize(line);
    }
  }

  #noteSize(line: string): void {
    // The end of the chunk before.
    if (line === "" && ++this.#extraLines < EXTRA_LINES_MAX) return;
    const size = CHUNK_SIZE.exec(line)?.[1];
    if (size === undefined) throw new Error("a chunk's size is unreadable");
    this.#extraLines = 0;
    this.#bytesLeft = Number.parseInt(size, 16);
    this.#state = this.#bytesLeft === 0 ? "trailer" : "data";
  }
}
