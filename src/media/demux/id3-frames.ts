// Walks the frames of an ID3v2 tag, in the forms that taggers really write: ids of 2.2 in a 2.3 header and the other way
// round, sizes in eight bits where seven are meant and the other way round. Audio and probe threads.

import { inflateSync } from "node:zlib";
import type { ByteCursor } from "./byte-cursor.ts";
import type { DemuxWork } from "./demux-work.ts";
import { decodeId3Text, readBe, syncSafe, undoUnsynchronisation } from "./id3-values.ts";
import { loudnessTagForName, setTag, type Tags, TEXT_BYTES_MAX } from "./tags.ts";

const FRAME_COUNT_MAX = 1024;
/** Header of a frame from 2.3 on. */
const LONG_HEADER_BYTES = 10;
/** Bytes of one tag that are searched where its sizes are wrong, and how many of them at once. */
const LOST_BYTES_MAX = 1024 * 1024;
const LOST_STEP_BYTES = 16 * 1024;
/** Letter of an id that means nothing. */
const UNNAMED = 0x5a;
/** Bytes that every source returns again. */
const BACK_BYTES_MAX = 32 * 1024;

const TAG_BY_FRAME: Readonly<Record<string, keyof Tags>> = {
  TIT2: "title",
  TPE1: "author",
  TSRC: "isrc",
  TT2: "title",
  TP1: "author",
  TRC: "isrc",
};
/** The ids of 2.2 where four letters belong: filled up with a NUL or a blank. */
const SHORT_ID =
  /^(?:[TW][A-Z0-9]{2}|BUF|CNT|COM|CRA|CRM|ETC|EQU|GEO|GP1|IPL|LNK|MCI|MLL|PCS|PIC|POP|REV|RVA|SLT|STC|UFI|ULT)[\0 ]$/;
/** "T": all ids above begin with it. */
const ID_LETTER = 0x54;
/** The first three letters of those ids, as one number. */
const ID_STARTS = new Set(Object.keys(TAG_BY_FRAME).map((id) => readBe(Buffer.from(id), 0, 3)));
/** Places with such letters that are looked at in one tag; by chance they hardly occur. */
const LOST_TRIES_MAX = 256;
/** Frames that hold a name and a text. */
const FREE_FRAMES: readonly string[] = ["TXXX", "TXX"];

export interface FrameWalk {
  /** 2 to 4; later ones are read as 4. */
  readonly version: number;
  /** 2.4: the tag says so of all its frames. */
  readonly isUnsynchronised: boolean;
  /** Where the tag ends. */
  readonly end: number;
  readonly tags: Tags;
  readonly work: DemuxWork;
}

/** Skips an extended header, if there is one: the flag is sometimes set without it. */
export async function readExtendedHeader(cursor: ByteCursor, version: number): Promise<void> {
  const head = await cursor.peek(24);
  if (head.length < 4 || isFrameId(idAt(head, 0, 4))) return;
  // 2.4 counts the size field itself, 2.3 does not, and writers mix that up.
  const sizeBytes = version >= 4 ? syncSafe(head, 0) : 4 + readBe(head, 0, 4);
  const otherBytes = version >= 4 ? 4 + sizeBytes : sizeBytes - 4;
  const isOther = !isFrameId(idAt(head, sizeBytes, 4)) && isFrameId(idAt(head, otherBytes, 4));
  cursor.skip(isOther ? otherBytes : sizeBytes);
}

/** Reads the needed texts of the frames at the cursor and leaves it behind the last frame that was read. */
export async function readId3Frames(cursor: ByteCursor, walk: FrameWalk): Promise<void> {
  const odd: Tags = {};
  await walkFrames(cursor, walk, odd);
  for (const name of ["title", "author", "isrc"] as const) {
    if (odd[name] !== undefined) setTag(walk.tags, name, odd[name]);
  }
}

/** `odd`: texts under ids of another version, which count only where the tag's own are missing. */
async function walkFrames(cursor: ByteCursor, walk: FrameWalk, odd: Tags): Promise<void> {
  const { work, end, tags, version } = walk;
  const lost: Lost = { fromBytes: cursor.position, scannedBytes: 0, triesLeft: LOST_TRIES_MAX, isUnsure: false };
  for (let count = 0; count < FRAME_COUNT_MAX && cursor.position < end; count++) {
    if (work.isSpent) await work.yield();
    const start = cursor.position;
    let bytes = await cursor.peek(LONG_HEADER_BYTES);
    // The text is read before the search for the next frame, from which a forward-only source cannot return.
    if (frameForms(bytes, walk.version).some(isNeeded)) bytes = await cursor.peek(LONG_HEADER_BYTES + TEXT_BYTES_MAX);
    const frame = await frameAt(cursor, bytes, walk);
    const next = frame === undefined ? Number.POSITIVE_INFINITY : endOf(frame, start);
    if (frame !== undefined && isNeeded(frame)) {
      const body = bytes.subarray(frame.headerBytes, Math.min(next, end) - start);
      const isOdd = frame.id.length !== (version <= 2 ? 3 : 4) && !FREE_FRAMES.includes(frame.id);
      readText(frame, await unwrapFrame(body, frame, walk), isOdd ? odd : tags);
    }
    if (frame !== undefined) {
      lost.fromBytes = start + 4;
      lost.isUnsure = frame.isUnsure === true;
    }
    if (next <= end && isReachable(cursor, next)) {
      cursor.moveTo(next);
      continue;
    }
    const isComplete = (tags.title ?? odd.title) !== undefined && (tags.author ?? odd.author) !== undefined;
    if (isComplete || (frame === undefined && !lost.isUnsure && isPadding(bytes))) return;
    if (await findText(cursor, lost, walk)) continue;
    // What follows may be no tag at all.
    if (isReachable(cursor, start)) cursor.moveTo(start);
    return;
  }
}

function isPadding(head: Uint8Array): boolean {
  return head.subarray(0, 4).every((byte) => byte === 0);
}

function isReachable(cursor: ByteCursor, positionBytes: number): boolean {
  return cursor.source.isRandomAccess || positionBytes >= cursor.position - BACK_BYTES_MAX;
}

/** A search for texts where the sizes are wrong. */
interface Lost {
  /** Behind the id of the last frame. */
  fromBytes: number;
  scannedBytes: number;
  triesLeft: number;
  /** Nothing followed the last frame, whatever form its size may have. */
  isUnsure: boolean;
}

/** Where sizes lead nowhere: moves to the next frame with a needed text; false when there is none. */
async function findText(cursor: ByteCursor, lost: Lost, { version, end, work }: FrameWalk): Promise<boolean> {
  if (isReachable(cursor, lost.fromBytes)) cursor.moveTo(lost.fromBytes);
  lost.isUnsure = false;
  while (lost.scannedBytes < LOST_BYTES_MAX && cursor.position + LONG_HEADER_BYTES <= end) {
    if (work.isSpent) await work.yield();
    const bytes = await cursor.peek(Math.min(LOST_STEP_BYTES, end - cursor.position));
    if (bytes.length < LONG_HEADER_BYTES) return false;
    const at = textFrameIn(bytes, { version, sizeBytesMax: end - cursor.position, lost });
    if (lost.triesLeft <= 0) return false;
    // A header may begin in what was scanned.
    const scannedBytes = at ?? Math.max(1, bytes.length - LONG_HEADER_BYTES);
    cursor.skip(scannedBytes);
    lost.scannedBytes += scannedBytes + 1;
    if (at !== undefined) return true;
  }
  return false;
}

/** Where the first frame with a needed text begins that fits into `sizeBytesMax`. */
function textFrameIn(
  bytes: Uint8Array,
  { version, sizeBytesMax, lost }: { version: number; sizeBytesMax: number; lost: Lost },
): number | undefined {
  for (let at = bytes.indexOf(ID_LETTER); at >= 0; at = bytes.indexOf(ID_LETTER, at + 1)) {
    if (at + LONG_HEADER_BYTES > bytes.length) return undefined;
    if (!ID_STARTS.has((bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!)) continue;
    if (--lost.triesLeft <= 0) return undefined;
    const isId = Object.hasOwn(TAG_BY_FRAME, idAt(bytes, at, 4)) || Object.hasOwn(TAG_BY_FRAME, idAt(bytes, at, 3));
    if (!isId) continue;
    const forms = frameForms(bytes.subarray(at, at + LONG_HEADER_BYTES), version);
    if (forms.some((form) => endOf(form, at) <= sizeBytesMax && (bytes[at + form.headerBytes] ?? 0) <= 3)) return at;
  }
  return undefined;
}

interface FrameHeader {
  readonly id: string;
  readonly headerBytes: number;
  readonly sizeBytes: number;
  readonly flags: number;
  readonly version: number;
  /** No frame follows. */
  readonly isUnsure?: boolean;
}

/** The frame at the cursor, which begins with `bytes`, in the form after which the next frame follows. */
async function frameAt(cursor: ByteCursor, bytes: Uint8Array, walk: FrameWalk): Promise<FrameHeader | undefined> {
  const start = cursor.position;
  const forms = frameForms(bytes, walk.version);
  const [native] = forms;
  // One form, or forms of one size: nothing to decide.
  if (native !== undefined && forms.every((form) => endOf(form, start) === endOf(native, start))) return native;
  for (const form of native === undefined ? unnamedForms(bytes, walk.version) : forms) {
    const next = endOf(form, start);
    if (next > walk.end || !isReachable(cursor, next)) continue;
    // A form that is not the version's own needs a frame behind it; zeros are in every picture.
    const isPaddingEnough = form === native && walk.version < 4;
    if (await isFollowed(cursor, { next, walk, isPaddingEnough })) return form;
  }
  return native && { ...native, isUnsure: true };
}

/** A frame whose id breaks the rules: stepped over if another follows. */
function unnamedForms(head: Uint8Array, version: number): FrameHeader[] {
  if (head.length < LONG_HEADER_BYTES || isPadding(head)) return [];
  const named = head.slice(0, LONG_HEADER_BYTES).fill(UNNAMED, 0, version <= 2 ? 3 : 4);
  return frameForms(named, version);
}

function endOf({ headerBytes, sizeBytes }: FrameHeader, position: number): number {
  return position + headerBytes + sizeBytes;
}

async function isFollowed(
  cursor: ByteCursor,
  { next, walk, isPaddingEnough }: { next: number; walk: FrameWalk; isPaddingEnough: boolean },
): Promise<boolean> {
  if (next === walk.end) return true;
  cursor.moveTo(next);
  const head = await cursor.peek(Math.min(LONG_HEADER_BYTES, walk.end - next));
  if (isPaddingEnough && head.every((byte) => byte === 0)) return true;
  return frameForms(head, walk.version).some((form) => endOf(form, next) <= walk.end);
}

/** The forms that the bytes at a frame's start may have, the version's own first; none when no frame starts there. */
function frameForms(head: Uint8Array, version: number): FrameHeader[] {
  const short = version > 2 && SHORT_ID.test(idAt(head, 0, 4)) ? idAt(head, 0, 3) : undefined;
  const forms: FrameHeader[] = [];
  const add = (id: string, headerBytes: number, sizeBytes: number, formVersion = version) => {
    if (head.length >= headerBytes && isFrameId(id)) {
      const flags = headerBytes === 10 ? readBe(head, 8, 2) : 0;
      forms.push({ id, headerBytes, sizeBytes, flags, version: formVersion });
    }
  };
  const [safe, plain] = [syncSafe(head, 4), readBe(head, 4, 4)];
  const isSafe = [4, 5, 6, 7].every((at) => (head[at] ?? 0) <= 0x7f);
  const addLong = (id: string) => {
    if (version >= 4 && isSafe) add(id, 10, safe);
    add(id, 10, plain);
    if (version < 4 && isSafe) add(id, 10, safe);
  };
  if (version <= 2) {
    add(idAt(head, 0, 3), 6, readBe(head, 3, 3));
    if (isFrameId(idAt(head, 0, 4))) add(idAt(head, 0, 4), 10, plain, 3);
  } else if (short === undefined) {
    addLong(idAt(head, 0, 4));
  } else {
    // "TP1" in the header of 2.3; or with the header of 2.2, whose size begins with a zero.
    addLong(short);
    add(short, 6, readBe(head, 3, 3), 2);
  }
  return forms;
}

function idAt(bytes: Uint8Array, at: number, count: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + count));
}

function isFrameId(id: string): boolean {
  return /^[A-Z][A-Z0-9]{2,3}$/.test(id);
}

function isNeeded({ id }: FrameHeader): boolean {
  return FREE_FRAMES.includes(id) || Object.hasOwn(TAG_BY_FRAME, id);
}

function readText({ id }: FrameHeader, body: Uint8Array, tags: Tags): void {
  // Each part may begin with a byte order mark.
  const parts = decodeId3Text(body)
    .split("\0", 8)
    .map((part) => part.replace(/^\ufeff/, ""));
  if (!FREE_FRAMES.includes(id)) {
    const name = TAG_BY_FRAME[id];
    const text = parts.find((part) => part.trim() !== "");
    if (name !== undefined && text !== undefined) setTag(tags, name, text);
    return;
  }
  const [freeName = "", value = ""] = parts;
  const name = loudnessTagForName(freeName);
  if (name !== undefined) setTag(tags, name, value);
}

/** Undoes what the flags of a frame say: grouping, compression, escaping. Encrypted frames are left out. */
async function unwrapFrame(
  body: Uint8Array,
  { version, flags }: FrameHeader,
  { isUnsynchronised, work }: FrameWalk,
): Promise<Uint8Array> {
  if (version === 3) {
    if ((flags & 0x40) !== 0) return body.subarray(0, 0);
    const isCompressed = (flags & 0x80) !== 0;
    const rest = body.subarray((isCompressed ? 4 : 0) + ((flags & 0x20) !== 0 ? 1 : 0));
    return isCompressed ? inflate(rest) : rest;
  }
  if (version < 3) return body;
  if ((flags & 0x04) !== 0) return body.subarray(0, 0);
  let rest = body.subarray(((flags & 0x40) !== 0 ? 1 : 0) + ((flags & 0x01) !== 0 ? 4 : 0));
  const isEscaped = ((flags & 0x02) !== 0 || isUnsynchronised) && !hasUnescaped(rest);
  if (isEscaped) rest = await undoUnsynchronisation(rest.slice(), work);
  return (flags & 0x08) !== 0 ? inflate(rest) : rest;
}

/** True when the bytes cannot be escaped, whatever the flags say: a plain byte order mark, for one. */
function hasUnescaped(bytes: Uint8Array): boolean {
  return bytes.some((byte, at) => byte === 0xff && (bytes[at + 1] ?? 0) >= 0xe0);
}

function inflate(bytes: Uint8Array): Uint8Array {
  try {
    return inflateSync(bytes, { maxOutputLength: TEXT_BYTES_MAX });
  } catch {
    // Damaged, or longer than any title.
    return bytes.subarray(0, 0);
  }
}
