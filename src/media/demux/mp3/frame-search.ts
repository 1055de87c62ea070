// Finds MP3 frames in bytes that may hold anything: a header counts only when the headers that must follow it are there
// too. Audio thread.

import type { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork } from "../demux-work.ts";
import { MPEG_STREAM_MASK, parseMpegAudioHeader } from "../mpeg-audio-header.ts";

/** Three frames of the greatest size fit twice, so that every start in the first half can be confirmed. */
const SNIFF_BYTES = 8192;
const CONFIRM_BYTES = 3 * 1441 + 4;

/** How far to search for frames, and which budget the search uses. */
export interface FrameSearch {
  readonly junkBytesMax: number;
  readonly work: DemuxWork;
}

/**
 * Moves the cursor to the first confirmed frame, at most `junkBytesMax` ahead; false when there is none. Three frames
 * in a row confirm each other; fewer suffice only where the data ends.
 */
export async function findFrame(cursor: ByteCursor, { junkBytesMax, work }: FrameSearch): Promise<boolean> {
  const limit = cursor.position + junkBytesMax;
  for (;;) {
    if (work.isSpent) await work.yield();
    const bytes = await cursor.peek(SNIFF_BYTES);
    const isEnd = bytes.length < SNIFF_BYTES;
    const lastStart = isEnd ? bytes.length - 4 : SNIFF_BYTES - CONFIRM_BYTES;
    const start = findFrameIn(bytes, { lastStart, isEnd });
    if (start >= 0 && cursor.position + start <= limit) {
      cursor.skip(start);
      return true;
    }
    if (isEnd || cursor.position + lastStart >= limit) return false;
    cursor.skip(lastStart + 1);
  }
}

/** Index of the first confirmed frame that starts at or before `lastStart`, or -1. */
export function findFrameIn(bytes: Uint8Array, options: { lastStart: number; isEnd: boolean }): number {
  for (let at = bytes.indexOf(0xff); at >= 0 && at <= options.lastStart; at = bytes.indexOf(0xff, at + 1)) {
    if (isConfirmed(bytes, at, options.isEnd)) return at;
  }
  return -1;
}

function isConfirmed(bytes: Uint8Array, start: number, isEnd: boolean): boolean {
  const first = wordAt(bytes, start);
  let at = start;
  for (let count = 0; count < 3; count++) {
    const word = wordAt(bytes, at);
    const header = parseMpegAudioHeader(word);
    if (header === undefined || !isSameStream(word, first)) return false;
    at += header.sizeBytes;
    if (at + 4 > bytes.length) return isEnd && (count > 0 || at === bytes.length);
  }
  return true;
}

/** True when two headers may belong to frames of one stream. */
export function isSameStream(word: number, other: number): boolean {
  return ((word ^ other) & MPEG_STREAM_MASK) === 0;
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0
  );
}
