// The first frame of a FLAC file as a second witness beside STREAMINFO, which may be missing, invalid or of another
// file: what a frame's header says is what is decoded. Audio and probe threads.

import type { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork } from "../demux-work.ts";
import {
  FLAC_HEADER_BYTES_MAX,
  type FlacFrameHeader,
  type FlacStreamInfo,
  parseFlacFrameHeader,
  readFlacStreamInfo,
} from "../flac-frame-header.ts";
import { findSync } from "./frame-end.ts";

/** Behind STREAMINFO, where the sizes of blocks lead nowhere: comments and a picture, most of the time. */
const SEARCH_BYTES_MAX = 1024 * 1024;
/** Bytes scanned for headers in one step. */
const STEP_BYTES = 8 * 1024;

/** STREAMINFO, corrected where the frames contradict it. */
interface FlacFacts {
  readonly info: FlacStreamInfo;
  readonly infoBody: Uint8Array;
}

/**
 * The header of the first frame: at the cursor, or else, where the sizes of metadata blocks are wrong, of the frame with
 * the number 0 behind `searchFrom`, to which the cursor moves. Undefined when there is none.
 */
export async function findFirstFrame(
  cursor: ByteCursor,
  { searchFrom, work }: { readonly searchFrom: number | undefined; readonly work: DemuxWork },
): Promise<FlacFrameHeader | undefined> {
  const here = parseFlacFrameHeader(await cursor.peek(FLAC_HEADER_BYTES_MAX));
  if (here !== undefined || searchFrom === undefined) return here;
  const startBytes = cursor.position;
  cursor.moveTo(searchFrom);
  while (cursor.position < searchFrom + SEARCH_BYTES_MAX) {
    if (work.isSpent) await work.yield();
    const bytes = await cursor.peek(STEP_BYTES);
    const last = bytes.length - FLAC_HEADER_BYTES_MAX;
    for (let at = findSync(bytes, 0, last); at >= 0; at = findSync(bytes, at + 1, last)) {
      const header = parseFlacFrameHeader(bytes, at);
      if (header?.number !== 0) continue;
      cursor.skip(at);
      return header;
    }
    if (last < 0 || bytes.length < STEP_BYTES) break;
    cursor.skip(last + 1);
  }
  cursor.moveTo(startBytes);
  return undefined;
}

/** Undefined when neither STREAMINFO nor the frame says how many bits a sample has, and the like. */
export function factsOf(first: FlacFrameHeader, infoBody: Uint8Array | undefined): FlacFacts | undefined {
  const declared = infoBody && readFlacStreamInfo(infoBody);
  const bitsPerSample = first.bitsPerSample || (declared?.bitsPerSample ?? 0);
  const sampleRateHz = first.sampleRateHz || (declared?.sampleRateHz ?? 0);
  if (bitsPerSample < 4 || sampleRateHz === 0) return undefined;
  const { channelCount, isVariable, blockSamples } = first;
  // Frames that have a number of their own are of one size, except for the last.
  const isWithin = blockSamples <= (declared?.blockSamplesMax ?? 0);
  const blockSamplesMax = isVariable && isWithin ? declared!.blockSamplesMax : blockSamples;
  const info = { frameBytesMax: 0, blockSamplesMin: blockSamplesMax, totalSamples: 0, ...declared };
  const facts = { ...info, bitsPerSample, sampleRateHz, blockSamplesMax, channelCount };
  if (infoBody !== undefined && declared !== undefined && isSame(declared, facts)) return { info: declared, infoBody };
  return {
    info: facts,
    infoBody: writeStreamInfo({ ...facts, blockSamplesMin: Math.min(facts.blockSamplesMin, blockSamples) }),
  };
}

function isSame(a: FlacStreamInfo, b: FlacStreamInfo): boolean {
  const isSameFormat = a.bitsPerSample === b.bitsPerSample && a.sampleRateHz === b.sampleRateHz;
  return isSameFormat && a.channelCount === b.channelCount && a.blockSamplesMax === b.blockSamplesMax;
}

/** Bytes that look like the header of a frame are not rare: its format has to be that of the file. */
export function isFrameOf(info: FlacStreamInfo, header: FlacFrameHeader): boolean {
  const isRate = header.sampleRateHz === 0 || header.sampleRateHz === info.sampleRateHz;
  const isDepth = header.bitsPerSample === 0 || header.bitsPerSample === info.bitsPerSample;
  return isRate && isDepth && header.channelCount === info.channelCount && header.blockSamples <= info.blockSamplesMax;
}

/** The body of a STREAMINFO block for the decoder: without the checksum, frame sizes and total. */
function writeStreamInfo(info: FlacStreamInfo): Uint8Array {
  const body = new Uint8Array(34);
  const view = new DataView(body.buffer);
  view.setUint16(0, Math.min(0xffff, info.blockSamplesMin));
  view.setUint16(2, Math.min(0xffff, info.blockSamplesMax));
  const format = ((info.channelCount - 1) << 9) | ((info.bitsPerSample - 1) << 4);
  view.setUint32(10, ((info.sampleRateHz << 12) | format) >>> 0);
  return body;
}
