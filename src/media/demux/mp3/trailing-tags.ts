// The tags behind the audio of an MP3 or AAC file: ID3v1, APE, Lyrics3, ID3v2 with a footer. Reads their title and
// artist, and tells where the audio ends. Audio and probe threads.

import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import { readId3 } from "../id3.ts";
import { decodeTag, loudnessTagForName, setTag, type Tags, TEXT_BYTES_MAX } from "../tags.ts";

/** Read at once: most tags without a picture. */
const TAIL_BYTES = 16 * 1024;
/** Tags behind each other. */
const TAG_COUNT_MAX = 8;
const APE_ITEM_COUNT_MAX = 256;
const APE_FOOTER_BYTES = 32;
/** A tag in front of the audio that claims more is none. */
const APE_BYTES_MAX = 256 * 1024 * 1024;
/** Size, flags and the longest name. */
const APE_ITEM_HEAD_BYTES = 8 + 256;
const ID3V1_BYTES = 128;
/** "TAG+" in front of ID3v1, with longer texts. */
const ENHANCED_BYTES = 227;
const LYRICS_END = "LYRICSEND";
const LYRICS_2_END = "LYRICS200";

const TAG_BY_ITEM: Readonly<Record<string, keyof Tags>> = { TITLE: "title", ARTIST: "author", ISRC: "isrc" };

/**
 * Reads the tags before `endBytes` into `tags`, where those do not have them yet, and returns where the first of them
 * starts; never before `startBytes`. The source must be random access.
 */
export async function readTrailingTags(
  { source, work }: ReaderParts,
  tags: Tags,
  { startBytes, endBytes }: { readonly startBytes: number; readonly endBytes: number },
): Promise<number> {
  const cursor = new ByteCursor(source);
  // The oldest kind has the shortest texts: it counts last.
  const short: Tags = {};
  let end = endBytes;
  for (let count = 0; count < TAG_COUNT_MAX && end > startBytes; count++) {
    if (work.isSpent) await work.yield();
    const tailStart = Math.max(startBytes, end - TAIL_BYTES);
    const isInside = tailStart >= cursor.position && cursor.position + cursor.bufferedBytes >= end;
    const held = isInside ? cursor.view(end - cursor.position).subarray(tailStart - cursor.position) : undefined;
    if (held === undefined) cursor.moveTo(tailStart);
    const tail = held ?? (await cursor.peek(end - tailStart));
    const sizeBytes = trailingSize(tail);
    if (sizeBytes === 0 || end - sizeBytes < startBytes) break;
    const start = end - sizeBytes;
    const kind = textAt(tail, tail.length - APE_FOOTER_BYTES, 8);
    if (kind === "APETAGEX") await readApe(new ByteCursor(source, start), tags, { end, work });
    else if (textAt(tail, tail.length - 10, 3) === "3DI") await readId3(new ByteCursor(source, start), tags, work);
    else readShort(tail, short);
    end = start;
  }
  for (const name of ["title", "author"] as const) setTag(tags, name, short[name] ?? "");
  return end;
}

/** Reads an APE tag at the cursor, which some taggers write in front of MP3, and moves behind it. */
export async function readApeInFront(cursor: ByteCursor, tags: Tags, work: DemuxWork): Promise<void> {
  const head = await cursor.peek(APE_FOOTER_BYTES);
  if (head.length < APE_FOOTER_BYTES || textAt(head, 0, 8) !== "APETAGEX") return;
  // Without the header, with the footer.
  const end = cursor.position + APE_FOOTER_BYTES + cursor.u32le(12);
  if (end > cursor.position + APE_BYTES_MAX) return;
  await readApe(cursor, tags, { end, work });
  cursor.moveTo(end);
}

/** Size of the tag that ends with `tail`; 0 when there is none. */
export function trailingSize(tail: Uint8Array): number {
  const length = tail.length;
  const view = new DataView(tail.buffer, tail.byteOffset, length);
  if (length >= ID3V1_BYTES && textAt(tail, length - ID3V1_BYTES, 3) === "TAG") {
    const isEnhanced = textAt(tail, length - ID3V1_BYTES - ENHANCED_BYTES, 4) === "TAG+";
    return ID3V1_BYTES + (isEnhanced ? ENHANCED_BYTES : 0);
  }
  if (length >= APE_FOOTER_BYTES && textAt(tail, length - APE_FOOTER_BYTES, 8) === "APETAGEX") {
    const hasHeader = (view.getUint32(length - 12, true) & 0x80000000) !== 0;
    return Math.max(APE_FOOTER_BYTES, view.getUint32(length - 20, true)) + (hasHeader ? APE_FOOTER_BYTES : 0);
  }
  if (textAt(tail, length - 10, 3) === "3DI") {
    const size = tail.subarray(length - 4).reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0);
    return size + 20;
  }
  const ending = textAt(tail, length - 9, 9);
  if (ending === LYRICS_2_END && /^\d{6}$/.test(textAt(tail, length - 15, 6))) {
    return Number(textAt(tail, length - 15, 6)) + 15;
  }
  if (ending !== LYRICS_END) return 0;
  const start = Buffer.from(tail.buffer, tail.byteOffset, length).lastIndexOf("LYRICSBEGIN");
  return start < 0 ? LYRICS_END.length : length - start;
}

/** ID3v1: "TAG", title and artist of 30 bytes each; "TAG+" the same with 60 each. */
function readShort(tail: Uint8Array, tags: Tags): void {
  const start = tail.length - ID3V1_BYTES;
  if (textAt(tail, start, 3) !== "TAG") return;
  const long = start - ENHANCED_BYTES;
  const hasLong = textAt(tail, long, 4) === "TAG+";
  const field = (at: number, longAt: number) =>
    decodeTag(concatField(tail.subarray(at, at + 30), hasLong ? tail.subarray(longAt, longAt + 60) : undefined));
  setTag(tags, "title", field(start + 3, long + 4));
  setTag(tags, "author", field(start + 33, long + 64));
}

/** The second part continues the first where that is full. */
function concatField(short: Uint8Array, long: Uint8Array | undefined): Uint8Array {
  const end = short.indexOf(0);
  if (end >= 0) return short.subarray(0, end);
  return long === undefined ? short : Buffer.concat([short, long]);
}

/**
 * Items: size, flags (32 bits each, little-endian), a name that ends with NUL, the value. A tag that is cut off yields
 * those before the cut.
 */
async function readApe(cursor: ByteCursor, tags: Tags, { end, work }: { end: number; work: DemuxWork }): Promise<void> {
  if (textAt(await cursor.peek(8), 0, 8) === "APETAGEX") cursor.skip(APE_FOOTER_BYTES);
  for (let count = 0; count < APE_ITEM_COUNT_MAX && cursor.position + APE_FOOTER_BYTES < end; count++) {
    if (work.isSpent) await work.yield();
    const head = await cursor.peek(APE_ITEM_HEAD_BYTES);
    const nameEnd = head.indexOf(0, 8);
    if (nameEnd < 9) return;
    const sizeBytes = cursor.u32le(0);
    const isText = (cursor.u32le(4) & 6) === 0;
    const key = textAt(head, 8, nameEnd - 8).toUpperCase();
    cursor.skip(nameEnd + 1);
    const next = cursor.position + sizeBytes;
    const name = Object.hasOwn(TAG_BY_ITEM, key) ? TAG_BY_ITEM[key] : loudnessTagForName(key);
    if (isText && name !== undefined) {
      setTag(tags, name, decodeTag(await cursor.peek(Math.min(sizeBytes, TEXT_BYTES_MAX, end - cursor.position))));
    }
    if (next > end) return;
    cursor.moveTo(next);
  }
}

function textAt(bytes: Uint8Array, at: number, count: number): string {
  return at < 0 ? "" : String.fromCharCode(...bytes.subarray(at, at + count));
}
