// The small notations inside HLS tags (RFC 8216 section 4.2): attribute lists, byte ranges, hexadecimal. Audio thread.

import type { ByteRange } from "./hls-segment.ts";

export type AttributeList = ReadonlyMap<string, string>;

const ATTRIBUTES_MAX = 64;

/** The attributes of a tag line, without quotes. A malformed attribute ends the list. */
export function parseAttributes(line: string): AttributeList {
  const attributes = new Map<string, string>();
  // Every part can match in one way only, so the time of a hostile line is linear in its length.
  const pattern = /\s*([A-Z0-9-]+)\s*=(?:\s*"([^"]*)"\s*|([^",]*))(?:,|$)/y;
  pattern.lastIndex = line.indexOf(":") + 1;
  while (attributes.size < ATTRIBUTES_MAX && pattern.lastIndex < line.length) {
    const match = pattern.exec(line);
    if (match === null) break;
    const [, name = "", quoted, plain] = match;
    if (!attributes.has(name)) attributes.set(name, quoted ?? plain?.trim() ?? "");
  }
  return attributes;
}

/** `length[@offset]`; undefined when missing or invalid. */
export function parseByteRange(text: string | undefined, defaultOffsetBytes: number): ByteRange | undefined {
  const match = /^(\d{1,15})(?:@(\d{1,15}))?$/.exec(text?.trim() ?? "");
  if (match === null) return undefined;
  const lengthBytes = Number(match[1]);
  return lengthBytes === 0
    ? undefined
    : { lengthBytes, offsetBytes: match[2] === undefined ? defaultOffsetBytes : Number(match[2]) };
}

/** `0x…` as that many bytes, filled up with zeros from the left; undefined when missing or invalid. */
export function parseHex(text: string | undefined, lengthBytes: number): Uint8Array | undefined {
  const digits = /^0x([0-9a-f]+)$/i.exec(text ?? "")?.[1];
  if (digits === undefined || digits.length > lengthBytes * 2) return undefined;
  return Buffer.from(digits.padStart(lengthBytes * 2, "0"), "hex");
}
