// The length of a FLAC file whose head does not say it (written to a pipe): by the number of its last frame. Audio and
// probe threads.

import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import { FLAC_HEADER_BYTES_MAX, type FlacFrameHeader, parseFlacFrameHeader } from "../flac-frame-header.ts";
import { findSync } from "./frame-end.ts";

/** Read from the end at first, and at most: two of the longest frames. */
const TAIL_BYTES_MIN = 64 * 1024;
const TAIL_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes scanned for headers in one step. */
const STEP_BYTES = 8 * 1024;

interface FlacFrames {
  readonly firstFrame: number;
  /** Samples of a block, unless blocks vary. */
  readonly blockSamples: number;
}

/** Samples up to the end of the last frame; 0 when it is not found, or the end is out of reach. */
export async function measureFlac({ source, work }: ReaderParts, frames: FlacFrames): Promise<number> {
  const { sizeBytes } = source;
  if (!source.isRandomAccess || sizeBytes === undefined) return 0;
  for (let tailBytes = TAIL_BYTES_MIN; tailBytes <= TAIL_BYTES_MAX; tailBytes *= 4) {
    const start = Math.max(frames.firstFrame, sizeBytes - tailBytes);
    const cursor = new ByteCursor(source, start);
    let before: FlacFrameHeader | undefined;
    let samples = 0;
    while (await cursor.need(FLAC_HEADER_BYTES_MAX)) {
      if (work.isSpent) await work.yield();
      const bytes = cursor.view(STEP_BYTES);
      const last = bytes.length - FLAC_HEADER_BYTES_MAX;
      for (let at = findSync(bytes, 0, last); at >= 0; at = findSync(bytes, at + 1, last)) {
        const header = parseFlacFrameHeader(bytes, at);
        if (header === undefined) continue;
        // A header counts when it follows the one before, or starts the file: bytes that look like one are not rare.
        const isFirst = cursor.position + at === frames.firstFrame;
        if (isFirst || (before !== undefined && isNext(before, header))) samples = endOf(header, frames);
        before = header;
      }
      cursor.skip(last + 1);
    }
    if (samples > 0 || start === frames.firstFrame) return samples;
  }
  return 0;
}

function isNext(before: FlacFrameHeader, header: FlacFrameHeader): boolean {
  const step = before.isVariable ? before.blockSamples : 1;
  return header.isVariable === before.isVariable && header.number === before.number + step;
}

function endOf({ isVariable, number, blockSamples }: FlacFrameHeader, frames: FlacFrames): number {
  return (isVariable ? number : number * frames.blockSamples) + blockSamples;
}
