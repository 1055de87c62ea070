// Finds MP3 frames in bytes that may hold anything: a header counts only when the headers that must follow it are there
// too. Audio thread.

import type { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork } from "../demux-work.ts";
import { MPEG_FRAME_BYTES_MAX, MPEG_STREAM_MASK, parseMpegAudioHeader } from "../mpeg-audio-header.ts";

/** Little, so that a slow stream starts soon. */
const SNIFF_BYTES = 8192;
/** From one header to the end of the next but one. */
export const CONFIRM_BYTES = 2 * MPEG_FRAME_BYTES_MAX + 4;
/** Zeros by which padding behind the last frame is recognised. */
const SILENT_BYTES = 64;
/** What may stand behind the last frame. */
const TAG_STARTS: readonly string[] = ["TAG", "APETAGEX", "LYRICSBEGIN", "ID3"];

/** How far to search for frames, and which budget the search uses. */
export interface FrameSearch {
  readonly junkBytesMax: number;
  readonly work: DemuxWork;
}

/**
 * Moves the cursor to the first confirmed frame, at most `junkBytesMax` ahead; false when there is none. Three frames
 * in a row confirm each other; fewer suffice only where the data or the audio ends.
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
    if (at + 4 > bytes.length) return isEnd && (count > 1 || at === bytes.length);
    const word = wordAt(bytes, at);
    const header = parseMpegAudioHeader(word);
    if (header === undefined || !isSameStream(word, first)) return count > 0 && isAudioEnd(bytes.subarray(at), count);
    at += header.sizeBytes;
  }
  return true;
}

/** True where a tag begins, or zeros follow two frames. */
function isAudioEnd(rest: Uint8Array, frameCount: number): boolean {
  const text = String.fromCharCode(...rest.subarray(0, 11));
  if (TAG_STARTS.some((start) => text.startsWith(start))) return true;
  return frameCount > 1 && rest.subarray(0, SILENT_BYTES).every((byte) => byte === 0);
}

/** True when two headers may belong to frames of one stream. */
export function isSameStream(word: number, other: number): boolean {
  return ((word ^ other) & MPEG_STREAM_MASK) === 0;
}

/** Four bytes, most significant first, unsigned; those that are missing are 0. */
export function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0
  );
}
