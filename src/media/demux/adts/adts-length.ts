// The length of an ADTS file, which states none: the frames of a small one are counted, a larger one is estimated from
// parts of it. Audio and probe threads.

import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import { ADTS_HEADER_BYTES, isAdtsStart, parseAdtsHeader } from "./adts-header.ts";

/** Up to this many bytes are counted: two minutes at 128 kbit/s. */
const COUNTED_BYTES_MAX = 2 * 1024 * 1024;
/** Parts of a larger file that are counted, evenly spread, from its start to its end. */
const PARTS = 8;
const PART_BYTES = 48 * 1024;
/** Searched at once for a frame, which the next one confirms; enough for two of the greatest. */
const SNIFF_BYTES = 16 * 1024;
/** Searches in one part: a file with more damage has no length. */
const SEARCHES_MAX = 32;

/** Milliseconds up to `audioEnd`, before the tags at the end; undefined where no frames are found. */
export async function measureAdts(
  parts: ReaderParts,
  firstFrame: number,
  audioEnd: number,
): Promise<number | undefined> {
  const audioBytes = audioEnd - firstFrame;
  if (audioBytes <= COUNTED_BYTES_MAX) {
    return Math.floor((await countFrames(parts, firstFrame, audioEnd)).durationMs) || undefined;
  }
  let [bytes, ms] = [0, 0];
  for (let index = 0; index < PARTS; index++) {
    const from = firstFrame + Math.floor(((audioBytes - PART_BYTES) * index) / (PARTS - 1));
    const { frameBytes, durationMs } = await countFrames(parts, from, from + PART_BYTES);
    bytes += frameBytes;
    ms += durationMs;
  }
  return bytes === 0 ? undefined : Math.floor((audioBytes / bytes) * ms);
}

/** Counts the frames that begin in this range. */
async function countFrames(
  { source, work }: ReaderParts,
  from: number,
  until: number,
): Promise<{ readonly frameBytes: number; readonly durationMs: number }> {
  const cursor = new ByteCursor(source, from);
  let [frameBytes, durationMs] = [0, 0];
  let searches = 0;
  let isConfirmed = false;
  while (cursor.position < until && (await cursor.need(ADTS_HEADER_BYTES))) {
    if (work.isSpent) await work.yield();
    const header = isConfirmed ? parseAdtsHeader(cursor.view(ADTS_HEADER_BYTES)) : undefined;
    if (header !== undefined) {
      if (!(await cursor.need(header.sizeBytes))) break;
      frameBytes += header.sizeBytes;
      durationMs += (1000 * header.frameSamples) / header.sampleRateHz;
      cursor.skip(header.sizeBytes);
    } else {
      if (++searches > SEARCHES_MAX) return { frameBytes: 0, durationMs: 0 };
      isConfirmed = await moveToStart(cursor);
    }
  }
  return { frameBytes, durationMs };
}

/** Moves to the first confirmed frame in the next bytes; false: past those that begin none. */
async function moveToStart(cursor: ByteCursor): Promise<boolean> {
  const bytes = await cursor.peek(SNIFF_BYTES);
  const isEnd = bytes.length < SNIFF_BYTES;
  const lastStart = isEnd ? bytes.length - 1 : SNIFF_BYTES / 2;
  for (let at = bytes.indexOf(0xff); at >= 0 && at <= lastStart; at = bytes.indexOf(0xff, at + 1)) {
    if (!isAdtsStart(bytes, { at, frameCount: 2, isEnd })) continue;
    cursor.skip(at);
    return true;
  }
  cursor.skip(lastStart + 1);
  return false;
}
