// EBML, the notation of Matroska and WebM (RFC 8794): element headers and values. Audio thread.

import type { ByteCursor } from "../byte-cursor.ts";

/** The element identifiers that matter here, with their marker bits (RFC 9559 section 5). */
export const ID = {
  ebml: 0x1a45dfa3,
  docType: 0x4282,
  segment: 0x18538067,
  seekHead: 0x114d9b74,
  seek: 0x4dbb,
  seekId: 0x53ab,
  seekPosition: 0x53ac,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  title: 0x7ba9,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  trackUid: 0x73c5,
  trackType: 0x83,
  flagDefault: 0x88,
  codecId: 0x86,
  codecPrivate: 0x63a2,
  codecDelay: 0x56aa,
  seekPreRoll: 0x56bb,
  audio: 0xe1,
  samplingFrequency: 0xb5,
  channels: 0x9f,
  bitDepth: 0x6264,
  contentEncodings: 0x6d80,
  contentEncoding: 0x6240,
  contentCompression: 0x5034,
  contentCompAlgo: 0x4254,
  contentCompSettings: 0x4255,
  contentEncryption: 0x5035,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  simpleBlock: 0xa3,
  blockGroup: 0xa0,
  block: 0xa1,
  discardPadding: 0x75a2,
  cues: 0x1c53bb6b,
  cuePoint: 0xbb,
  cueTime: 0xb3,
  cueTrackPositions: 0xb7,
  cueTrack: 0xf7,
  cueClusterPosition: 0xf1,
  tags: 0x1254c367,
  tag: 0x7373,
  targets: 0x63c0,
  targetTypeValue: 0x68ca,
  targetType: 0x63ca,
  tagTrackUid: 0x63c5,
  tagEditionUid: 0x63c9,
  tagChapterUid: 0x63c4,
  tagAttachmentUid: 0x63c6,
  simpleTag: 0x67c8,
  tagName: 0x45a3,
  tagString: 0x4487,
} as const;

/** The longest element header: 4 bytes of identifier, 8 of size. */
export const ELEMENT_HEADER_BYTES_MAX = 12;

/** Size of an element that ends where its parent or the data ends (live streams). */
export const UNKNOWN_SIZE = Number.POSITIVE_INFINITY;

export interface ElementHeader {
  readonly id: number;
  readonly headerBytes: number;
  /** Bytes of the body, or UNKNOWN_SIZE. */
  readonly sizeBytes: number;
}

/** The element header at `start` of `bytes`; undefined when it is cut off or malformed. */
export function parseElementHeader(bytes: Uint8Array, start = 0): ElementHeader | undefined {
  const first = bytes[start];
  if (first === undefined || first < 0x10) return undefined;
  const idBytes = Math.clz32(first) - 23;
  let id = 0;
  for (let index = 0; index < idBytes; index++) id = id * 256 + (bytes[start + index] ?? 0);
  const size = parseVint(bytes, start + idBytes);
  return size && { id, headerBytes: idBytes + size.lengthBytes, sizeBytes: size.value };
}

/** The element header at the cursor, which must have `ELEMENT_HEADER_BYTES_MAX` bytes or the rest of the data. */
export async function peekElementHeader(cursor: ByteCursor): Promise<ElementHeader | undefined> {
  return parseElementHeader(await cursor.peek(ELEMENT_HEADER_BYTES_MAX));
}

/** A variable-length number of 1 to 8 bytes; all value bits set means UNKNOWN_SIZE. */
export function parseVint(bytes: Uint8Array, start: number): { value: number; lengthBytes: number } | undefined {
  const first = bytes[start];
  if (first === undefined || first === 0 || start + Math.clz32(first) - 23 > bytes.length) return undefined;
  const lengthBytes = Math.clz32(first) - 23;
  let value = first & (0xff >> lengthBytes);
  let isUnknown = value === 0xff >> lengthBytes;
  for (let index = 1; index < lengthBytes; index++) {
    const byte = bytes[start + index]!;
    value = value * 256 + byte;
    isUnknown &&= byte === 0xff;
  }
  return { value: isUnknown ? UNKNOWN_SIZE : value, lengthBytes };
}

interface Element {
  readonly id: number;
  readonly body: Uint8Array;
}

/** Elements read below one parent; real files have far fewer (a cue list may have thousands). */
const CHILD_COUNT_MAX = 65_536;

/**
 * The children in the body of a parent that is held completely, at most `countMax`; stops at the first malformed one.
 * Callers that read many do so in time slices.
 */
export function* readElements(body: Uint8Array, countMax = CHILD_COUNT_MAX): Generator<Element> {
  let at = 0;
  for (let count = 0; count < countMax && at < body.length; count++) {
    const header = parseElementHeader(body, at);
    if (header === undefined) return;
    const start = at + header.headerBytes;
    const end = Math.min(start + header.sizeBytes, body.length);
    yield { id: header.id, body: body.subarray(start, end) };
    at = end;
  }
}

/** An unsigned number of up to 8 bytes (exact up to 2^53). */
export function readUnsigned(body: Uint8Array): number {
  let value = 0;
  for (const byte of body.subarray(0, 8)) value = value * 256 + byte;
  return value;
}

export function readSigned(body: Uint8Array): number {
  const value = readUnsigned(body);
  return body.length > 0 && body[0]! >= 0x80 ? value - 256 ** Math.min(body.length, 8) : value;
}

/** A float of 4 or 8 bytes; NaN for anything else. */
export function readFloat(body: Uint8Array): number {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  if (body.length === 4) return view.getFloat32(0);
  return body.length === 8 ? view.getFloat64(0) : Number.NaN;
}
