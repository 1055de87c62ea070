// ID3v2 tags in front of MP3, AAC and FLAC files (id3.org: 2.2, 2.3, 2.4). Reads the needed texts and skips the rest:
// pictures are never loaded when the source can jump. Audio thread.

import type { ByteCursor } from "./byte-cursor.ts";
import type { DemuxWork } from "./demux-work.ts";
import { readOwned } from "./owned-bytes.ts";
import { loudnessTagForName, setTag, type Tags, TEXT_BYTES_MAX } from "./tags.ts";

const HEADER_BYTES = 10;
/** Tags in a row that are skipped. */
const TAG_COUNT_MAX = 8;
/** The maximum of a tag's size field. */
const ID3_BYTES_MAX = 256 * 1024 * 1024;
/** How much of a tag is searched for its texts when it must be read whole (unsynchronised). */
const UNSYNCHRONISED_BYTES_MAX = 1024 * 1024;
const FRAME_COUNT_MAX = 1024;
/** Bytes unescaped in one step. */
const UNDO_BYTES = 16 * 1024;

const TAG_BY_FRAME: Readonly<Record<string, keyof Tags>> = {
  TIT2: "title",
  TPE1: "author",
  TSRC: "isrc",
  TT2: "title",
  TP1: "author",
  TRC: "isrc",
};
/** Frames that hold a name and a text. */
const FREE_FRAMES: readonly string[] = ["TXXX", "TXX"];

/** Size of the ID3v2 tag at the start of `head`, header and footer included; 0 when there is none. */
export function id3Size(head: Uint8Array): number {
  const isTag = head.length >= HEADER_BYTES && head[0] === 0x49 && head[1] === 0x44 && head[2] === 0x33;
  if (!isTag || head[3]! < 2 || head[3]! > 4 || [6, 7, 8, 9].some((at) => head[at]! > 0x7f)) return 0;
  const footerBytes = head[3] === 4 && (head[5]! & 0x10) !== 0 ? HEADER_BYTES : 0;
  return HEADER_BYTES + syncSafe(head, 6) + footerBytes;
}

/** The tags in front of a file's actual format. */
export interface LeadingTags {
  readonly tags: Tags;
  /** Where the format itself starts. */
  readonly endBytes: number;
}

/** Reads the tags at the cursor, one after another, and leaves it behind them. */
export async function readId3(cursor: ByteCursor, tags: Tags, work: DemuxWork): Promise<void> {
  const limit = cursor.position + ID3_BYTES_MAX;
  for (let count = 0; count < TAG_COUNT_MAX; count++) {
    const head = await cursor.peek(HEADER_BYTES);
    const sizeBytes = id3Size(head);
    if (sizeBytes === 0 || cursor.position + sizeBytes > limit) return;
    const end = cursor.position + sizeBytes;
    const [version, flags] = [head[3]!, head[5]!];
    cursor.skip(HEADER_BYTES);
    if ((flags & 0x80) !== 0 && version < 4) await readUnsynchronised(cursor, { version, flags, end, tags, work });
    else await readFrames(cursor, { version, flags, end, tags, work });
    cursor.moveTo(end);
  }
}

interface TagContext {
  readonly version: number;
  readonly flags: number;
  readonly end: number;
  readonly tags: Tags;
  readonly work: DemuxWork;
}

async function readFrames(cursor: ByteCursor, context: TagContext): Promise<void> {
  const { version, tags, work } = context;
  const headerBytes = version === 2 ? 6 : 10;
  if (version > 2 && (context.flags & 0x40) !== 0) await skipExtendedHeader(cursor, version);
  for (let count = 0; count < FRAME_COUNT_MAX && cursor.position + headerBytes <= context.end; count++) {
    if (work.isSpent) await work.yield();
    const head = await cursor.read(headerBytes);
    const frame = parseFrameHeader(head, version);
    if (frame === undefined || cursor.position + frame.sizeBytes > context.end) return;
    const next = cursor.position + frame.sizeBytes;
    if (isNeeded(frame)) {
      const body = await cursor.read(Math.min(frame.sizeBytes, TEXT_BYTES_MAX));
      readText(frame, await unwrapFrame(body, frame.formatFlags, work), tags);
    }
    cursor.moveTo(next);
  }
}

/** Up to 2.3 the whole tag is escaped, frame headers too: undo that, then walk the frames in memory. */
async function readUnsynchronised(cursor: ByteCursor, context: TagContext): Promise<void> {
  const { work } = context;
  const sizeBytes = Math.min(context.end - cursor.position, UNSYNCHRONISED_BYTES_MAX);
  const escaped = await readOwned(cursor, { sizeBytes, work, purpose: "its tags" });
  const bytes = await undoUnsynchronisation(escaped, work);
  const headerBytes = context.version === 2 ? 6 : 10;
  let at = 0;
  if (context.version === 3 && (context.flags & 0x40) !== 0) at = 4 + readBe(bytes, 0, 4);
  for (let count = 0; count < FRAME_COUNT_MAX && at + headerBytes <= bytes.length; count++) {
    if (work.isSpent) await work.yield();
    const frame = parseFrameHeader(bytes.subarray(at, at + headerBytes), context.version);
    if (frame === undefined) break;
    const start = at + headerBytes;
    const textEnd = start + Math.min(frame.sizeBytes, TEXT_BYTES_MAX);
    if (isNeeded(frame)) readText(frame, bytes.subarray(start, textEnd), context.tags);
    at = start + frame.sizeBytes;
  }
  work.release(escaped.length);
}

async function skipExtendedHeader(cursor: ByteCursor, version: number): Promise<void> {
  const head = await cursor.peek(4);
  if (head.length < 4) return;
  // 2.4 counts the size field itself, 2.3 does not.
  cursor.skip(version === 4 ? syncSafe(head, 0) : 4 + readBe(head, 0, 4));
}

interface FrameHeader {
  readonly id: string;
  readonly sizeBytes: number;
  /** 2.4: 0x01 data length, 0x02 unsynchronised, 0x04 encrypted, 0x08 compressed. 0 otherwise. */
  readonly formatFlags: number;
}

function parseFrameHeader(head: Uint8Array, version: number): FrameHeader | undefined {
  const idBytes = version === 2 ? 3 : 4;
  if (head.length < (version === 2 ? 6 : 10)) return undefined;
  const id = String.fromCharCode(...head.subarray(0, idBytes));
  if (!/^[A-Z0-9]+$/.test(id)) return undefined;
  if (version === 2) return { id, sizeBytes: readBe(head, 3, 3), formatFlags: 0 };
  // Some writers of 2.4 tags ignore that sizes are seven bits a byte; a set top bit reveals them.
  const isSyncSafe = version === 4 && [4, 5, 6, 7].every((at) => head[at]! <= 0x7f);
  return {
    id,
    sizeBytes: isSyncSafe ? syncSafe(head, 4) : readBe(head, 4, 4),
    formatFlags: version === 4 ? head[9]! : 0,
  };
}

function isNeeded({ id }: FrameHeader): boolean {
  return FREE_FRAMES.includes(id) || Object.hasOwn(TAG_BY_FRAME, id);
}

function readText({ id }: FrameHeader, body: Uint8Array, tags: Tags): void {
  const text = decodeText(body);
  if (!FREE_FRAMES.includes(id)) {
    const name = TAG_BY_FRAME[id];
    if (name !== undefined) setTag(tags, name, text);
    return;
  }
  const [freeName = "", value = ""] = text.split("\0", 2);
  const name = loudnessTagForName(freeName);
  // Each of the two may begin with a byte order mark.
  if (name !== undefined) setTag(tags, name, value.replace(/^\ufeff/, ""));
}

async function unwrapFrame(body: Uint8Array, formatFlags: number, work: DemuxWork): Promise<Uint8Array> {
  if ((formatFlags & 0x0c) !== 0) return body.subarray(0, 0);
  const plain = (formatFlags & 0x01) !== 0 ? body.subarray(4) : body;
  return (formatFlags & 0x02) !== 0 ? undoUnsynchronisation(plain.slice(), work) : plain;
}

/** Removes the zero byte behind every 0xff, in place. */
async function undoUnsynchronisation(bytes: Uint8Array, work: DemuxWork): Promise<Uint8Array> {
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (length % UNDO_BYTES === 0 && work.isSpent) await work.yield();
    const byte = bytes[at]!;
    if (byte === 0xff && bytes[at + 1] === 0) at += 1;
    bytes[length++] = byte;
  }
  return bytes.subarray(0, length);
}

/** Encoding byte, then text: 0 Latin-1, 1 UTF-16 with byte order mark, 2 UTF-16BE, 3 UTF-8. */
function decodeText(body: Uint8Array): string {
  const text = body.subarray(1);
  if (body[0] === 0) return Buffer.from(text).toString("latin1");
  if (body[0] === 3) return new TextDecoder("utf-8").decode(text);
  if (body[0] === 2) return new TextDecoder("utf-16be").decode(text);
  if (body[0] !== 1) return "";
  const isBigEndian = text[0] === 0xfe && text[1] === 0xff;
  return new TextDecoder(isBigEndian ? "utf-16be" : "utf-16le").decode(text);
}

function syncSafe(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 21) | (bytes[at + 1]! << 14) | (bytes[at + 2]! << 7) | bytes[at + 3]!;
}

function readBe(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let index = 0; index < count; index++) value = value * 256 + (bytes[at + index] ?? 0);
  return value;
}
