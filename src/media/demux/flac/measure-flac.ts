// The length of a FLAC file by the number of its last frame: its head does not say it when it was written to a pipe, and
// may be wrong. Audio and probe threads.

import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import {
  FLAC_HEADER_BYTES_MAX,
  type FlacFrameHeader,
  type FlacStreamInfo,
  flacCrc16,
  parseFlacFrameHeader,
} from "../flac-frame-header.ts";
import { trailingSize } from "../mp3/trailing-tags.ts";
import { isFrameOf } from "./first-frame.ts";
import { FRAME_BYTES_MIN, findSync } from "./frame-end.ts";

/** Read from the end at first, and at most: two of the longest frames. */
const TAIL_BYTES_MIN = 64 * 1024;
const TAIL_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes scanned for headers in one step. */
const STEP_BYTES = 8 * 1024;
/** Headers that a frame may follow: the one before it, and what looks like one since. */
const RECENT_COUNT = 8;

interface FlacFrames {
  readonly firstFrame: number;
  readonly info: FlacStreamInfo;
}

/** A last frame that is not longer is checked for its end. */
const LAST_BYTES_MAX = 64 * 1024;

/** Samples up to the end of the last whole frame; 0 when it is not found, or the end is out of reach. */
export async function measureFlac({ source, work }: ReaderParts, frames: FlacFrames): Promise<number> {
  const { sizeBytes } = source;
  if (!source.isRandomAccess || sizeBytes === undefined) return 0;
  for (let tailBytes = TAIL_BYTES_MIN; tailBytes <= TAIL_BYTES_MAX; tailBytes *= 4) {
    const start = Math.max(frames.firstFrame, sizeBytes - tailBytes);
    const cursor = new ByteCursor(source, start);
    const recent: FlacFrameHeader[] = [];
    let [samples, lastStart, lastSamples] = [0, 0, 0];
    for (let isEnd = false; !isEnd; ) {
      if (work.isSpent) await work.yield();
      const bytes = await cursor.peek(STEP_BYTES);
      isEnd = bytes.length < STEP_BYTES;
      // The last frame may be shorter than the longest header.
      const last = bytes.length - (isEnd ? FRAME_BYTES_MIN : FLAC_HEADER_BYTES_MAX);
      for (let at = findSync(bytes, 0, last); at >= 0; at = findSync(bytes, at + 1, last)) {
        const header = parseFlacFrameHeader(bytes, at);
        if (header === undefined || !isFrameOf(frames.info, header)) continue;
        // A header counts when it follows another one, or is the only one: bytes that look like one are not rare.
        if (recent.some((before) => isNext(before, header))) {
          samples = endOf(header, frames.info);
          [lastStart, lastSamples] = [cursor.position + at, header.blockSamples];
        }
        recent.push(header);
        if (recent.length > RECENT_COUNT) recent.shift();
      }
      if (!isEnd) cursor.skip(last + 1);
    }
    if (samples > 0) return samples - ((await isCutOff(source, lastStart, sizeBytes)) ? lastSamples : 0);
    if (start === frames.firstFrame) return recent.length === 1 ? endOf(recent[0]!, frames.info) : 0;
  }
  return 0;
}

/** True when the frame that starts here lacks its end. What stands behind the last frame, a tag say, hides that. */
async function isCutOff(source: ByteSource, startBytes: number, endBytes: number): Promise<boolean> {
  const sizeBytes = endBytes - startBytes;
  if (sizeBytes > LAST_BYTES_MAX) return false;
  const bytes = await new ByteCursor(source, startBytes).peek(sizeBytes);
  return trailingSize(bytes) === 0 && bytes.length > 2 && flacCrc16(bytes, { start: 0, end: bytes.length }) !== 0;
}

function isNext(before: FlacFrameHeader, header: FlacFrameHeader): boolean {
  const step = before.isVariable ? before.blockSamples : 1;
  return header.isVariable === before.isVariable && header.number === before.number + step;
}

function endOf({ isVariable, number, blockSamples }: FlacFrameHeader, info: FlacStreamInfo): number {
  return (isVariable ? number : number * info.blockSamplesMax) + blockSamples;
}
