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
/** Frames are confirmed by the next one within this many bytes. */
const SNIFF_BYTES = 16 * 1024;

/** Milliseconds; undefined for a source that cannot be read anywhere, and where no frames are found. */
export async function measureAdts(parts: ReaderParts, firstFrame: number): Promise<number | undefined> {
  const { isRandomAccess, sizeBytes } = parts.source;
  if (!isRandomAccess || sizeBytes === undefined) return undefined;
  const audioBytes = sizeBytes - firstFrame;
  if (audioBytes <= COUNTED_BYTES_MAX) {
    return Math.floor((await countFrames(parts, firstFrame, sizeBytes)).durationMs) || undefined;
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
  let isConfirmed = false;
  while (cursor.position < until && (await cursor.need(ADTS_HEADER_BYTES))) {
    if (work.isSpent) await work.yield();
    const header = parseAdtsHeader(cursor.view(ADTS_HEADER_BYTES));
    if (header !== undefined && (isConfirmed || (await isStart(cursor)))) {
      isConfirmed = true;
      if (!(await cursor.need(header.sizeBytes))) break;
      frameBytes += header.sizeBytes;
      durationMs += (1000 * header.frameSamples) / header.sampleRateHz;
      cursor.skip(header.sizeBytes);
    } else {
      isConfirmed = false;
      const rest = cursor.view(cursor.bufferedBytes);
      const next = rest.indexOf(0xff, 1);
      cursor.skip(next < 0 ? rest.length : next);
    }
  }
  return { frameBytes, durationMs };
}

async function isStart(cursor: ByteCursor): Promise<boolean> {
  const bytes = await cursor.peek(SNIFF_BYTES);
  return isAdtsStart(bytes, { at: 0, frameCount: 2, isEnd: bytes.length < SNIFF_BYTES });
}
