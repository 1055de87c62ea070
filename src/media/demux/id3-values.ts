// Numbers, escaping and text of ID3v2. Audio and probe threads.

import { decodeText } from "../input/legacy-text.ts";
import type { DemuxWork } from "./demux-work.ts";

/** Bytes unescaped in one step. */
export const UNDO_BYTES = 16 * 1024;
/** By so many it is seen whether a text is ASCII. */
const PLAIN_BYTES_MAX = 255;

/** Four bytes of seven bits each. */
export function syncSafe(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 21) | (bytes[at + 1]! << 14) | (bytes[at + 2]! << 7) | bytes[at + 3]!;
}

/** Most significant byte first; bytes that are missing are 0. */
export function readBe(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let index = 0; index < count; index++) value = value * 256 + (bytes[at + index] ?? 0);
  return value;
}

/** Removes the zero byte behind every 0xff, in place. */
export async function undoUnsynchronisation(bytes: Uint8Array, work: DemuxWork): Promise<Uint8Array> {
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (length % UNDO_BYTES === 0 && work.isSpent) await work.yield();
    const byte = bytes[at]!;
    if (byte === 0xff && bytes[at + 1] === 0) at += 1;
    bytes[length++] = byte;
  }
  return bytes.subarray(0, length);
}

/** Encoding byte, then text: 0 Latin-1, 1 UTF-16 with byte order mark, 2 UTF-16BE, 3 UTF-8; often wrong. */
export function decodeId3Text(body: Uint8Array): string {
  const encoding = body[0] ?? 0;
  // Without its encoding byte: the text begins at once.
  if (encoding > 3) return decodeText(body);
  const text = body.subarray(1);
  const hasMark = (text[0] === 0xff && text[1] === 0xfe) || (text[0] === 0xfe && text[1] === 0xff);
  if (encoding === 0 || encoding === 3 || hasMark) return decodeText(text);
  if (isPlainAscii(text)) return decodeText(text);
  const isBigEndian = hasHighZeros(text) ?? (encoding === 2 || hasHighFirst(text));
  return new TextDecoder(isBigEndian ? "utf-16be" : "utf-16le").decode(text, { stream: true });
}

/** Letters in pairs make characters of UTF-16 too: two or more of these in a row are Chinese that nobody wrote. */
function isPlainAscii(text: Uint8Array): boolean {
  const end = text.indexOf(0);
  const written = String.fromCharCode(...(end < 0 ? text : text.subarray(0, end)).subarray(0, PLAIN_BYTES_MAX));
  return written.length % 2 === 1 ? /^[\x20-\x7e]{3,}$/.test(written) : /^[\w .,:'()&!?-]{6,}$/.test(written);
}

/**
 * True when the zeros of Latin letters come first in their characters; undefined when there are too few to tell: other
 * scripts have characters with a zero too.
 */
function hasHighZeros(text: Uint8Array): boolean | undefined {
  const isLetter = (byte = 0) => byte >= 0x20 && byte < 0x7f;
  let high = 0;
  let low = 0;
  for (let at = 0; at + 1 < text.length; at += 2) {
    if (text[at] === 0 && isLetter(text[at + 1])) high += 1;
    if (text[at + 1] === 0 && isLetter(text[at])) low += 1;
  }
  const most = Math.max(high, low);
  return high === low || most < 2 || most < text.length / 8 ? undefined : high > low;
}

/** True when the first byte of the characters varies less than the second: that of one script does. */
function hasHighFirst(text: Uint8Array): boolean {
  const [first, second] = [0, 1].map((parity) => new Set(text.filter((_, at) => at % 2 === parity)).size);
  return first! < second!;
}
