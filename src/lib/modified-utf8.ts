// The text encoding of Java's DataOutput, which encoded tracks use (protocol-v4.md section 5.3): U+0000 takes two
// bytes, characters above U+FFFF are written as two surrogates of three bytes each. A leaf without domain knowledge.

import { isUtf8 } from "node:buffer";

/** Without these characters it equals UTF-8, which the engine reads and writes many times faster. */
const SPECIAL = /[\0\ud800-\udfff]/;

/** The most bytes one text can have: its length is a 16-bit number. */
export const MODIFIED_UTF8_BYTES_MAX = 0xffff;

/** Size of the encoded `text` in bytes, without its length field. */
export function modifiedUtf8Length(text: string): number {
  if (!SPECIAL.test(text)) return Buffer.byteLength(text);
  let length = 0;
  for (let index = 0; index < text.length; index++) length += unitLength(text.charCodeAt(index));
  return length;
}

/** Encodes any string, lone surrogates included. */
export function encodeModifiedUtf8(text: string): Uint8Array {
  if (!SPECIAL.test(text)) return Buffer.from(text);
  const bytes = new Uint8Array(modifiedUtf8Length(text));
  let at = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    const size = unitLength(unit);
    if (size === 1) {
      bytes[at++] = unit;
    } else if (size === 2) {
      bytes[at++] = 0xc0 | (unit >> 6);
      bytes[at++] = 0x80 | (unit & 0x3f);
    } else {
      bytes[at++] = 0xe0 | (unit >> 12);
      bytes[at++] = 0x80 | ((unit >> 6) & 0x3f);
      bytes[at++] = 0x80 | (unit & 0x3f);
    }
  }
  return bytes;
}

/** Decodes, or returns undefined where Java's reader would refuse (four-byte forms, stray or missing continuations). */
export function decodeModifiedUtf8(bytes: Uint8Array): string | undefined {
  if (isUtf8(bytes)) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
    if (!SPECIAL.test(text)) return text;
  }
  const units = Buffer.alloc(bytes.length * 2);
  let sizeBytes = 0;
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at]!; // bounded by the loop
    const size = first < 0x80 ? 1 : first >> 5 === 0b110 ? 2 : first >> 4 === 0b1110 ? 3 : undefined;
    if (size === undefined) return undefined;
    const second = size > 1 ? continuation(bytes, at + 1) : 0;
    const third = size > 2 ? continuation(bytes, at + 2) : 0;
    if (second === undefined || third === undefined) return undefined;
    let unit = first;
    if (size === 2) unit = ((first & 0x1f) << 6) | second;
    if (size === 3) unit = ((first & 0x0f) << 12) | (second << 6) | third;
    sizeBytes = units.writeUInt16LE(unit, sizeBytes);
    at += size;
  }
  return units.toString("utf16le", 0, sizeBytes);
}

function continuation(bytes: Uint8Array, at: number): number | undefined {
  const byte = bytes[at];
  return byte !== undefined && byte >> 6 === 0b10 ? byte & 0x3f : undefined;
}

function unitLength(unit: number): number {
  if (unit !== 0 && unit < 0x80) return 1;
  return unit < 0x800 ? 2 : 3;
}
