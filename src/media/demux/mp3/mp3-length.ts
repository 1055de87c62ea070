// How long an MP3 file is. No single number is believed: what the summary frame says is compared with the size of the
// file, a constant bit rate at the start with the rate at the end. Audio and probe threads.

import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import { type MpegAudioHeader, parseMpegAudioHeader } from "../mpeg-audio-header.ts";
import { CONFIRM_BYTES, findFrameIn, isSameStream, wordAt } from "./frame-search.ts";
import type { Mp3Summary } from "./mp3-summary.ts";

/** A difference of sizes that says nothing: rounding, and a frame more or less. */
const TOLERANCE = 0.02;
/** Files of varying rate up to this size are counted to the end, larger ones are sampled. */
const COUNT_BYTES_MAX = 2 * 1024 * 1024;
const SAMPLE_COUNT = 16;
/** Silence that counts in, milliseconds: two frames of the usual rates. */
const PADDING_MS_MAX = 100;
/** A count of samples at so many points is this inexact: half of the time may be silence, in few bytes. */
const SAMPLED_TOLERANCE = 0.45;
/** The mean size of all frames may be this many times that of the first or the last ones: quiet beginnings and ends. */
const MEAN_FACTOR_MAX = 1.5;
const SAMPLE_BYTES = 8192;
/** Bytes behind the end of the summary's audio in which frames that go on are found. */
const BEHIND_BYTES = 4096;

export interface Mp3Extent {
  readonly header: MpegAudioHeader;
  /** Header of the first frame with audio. */
  readonly word: number;
  /** Start of the first frame of any kind, and of the first with audio. */
  readonly summaryStart: number;
  readonly firstFrame: number;
  /** Where the audio ends, before all tags; undefined when the size is unknown. */
  readonly audioEnd: number | undefined;
  /** Whether more of the file may be read for the length: its end, and frames to be counted or sampled. */
  readonly isMeasured: boolean;
  /** The first frames: whether all have one bit rate, and their mean size. */
  readonly sample: { readonly isConstant: boolean; readonly frameBytes: number };
}

/** The summary as far as it agrees with the file: undefined when it speaks of something else. */
export function checkedSummary(summary: Mp3Summary | undefined, extent: Mp3Extent): Mp3Summary | undefined {
  if (summary?.frameCount === undefined) return summary;
  const { header } = extent;
  const bytes = expectedBytes(summary, extent) ?? bytesFrom(extent, extent.summaryStart);
  if (bytes === undefined) return summary;
  const [lowBps, highBps] = header.version === 1 ? [32_000, 320_000] : [8000, 160_000];
  const meanBps = (8 * bytes * header.sampleRateHz) / (summary.frameCount * header.frameSamples);
  // Half and double: a few frames more or less are much in a short file.
  if (meanBps >= lowBps / 2 && meanBps <= highBps * 2) return summary;
  return { ...summary, frameCount: undefined, sizeBytes: undefined, hundredths: undefined, endSamples: 0 };
}

/**
 * Length in milliseconds; undefined when unknown, or when it would have to be measured. As in Lavalink with encoder
 * padding and, at a constant rate, the summary's own frame, but only while they are short.
 */
export async function mp3Length(
  parts: ReaderParts,
  summary: Mp3Summary | undefined,
  extent: Mp3Extent,
): Promise<number | undefined> {
  const { header } = extent;
  const declared = summary?.frameCount;
  const { startSamples = 0, endSamples = 0 } = summary ?? {};
  const lengthOf = (frames: number) => {
    const msOf = (samples: number) => Math.floor((1000 * Math.max(0, samples)) / header.sampleRateHz);
    const allMs = msOf((frames + (summary?.kind === "cbr" ? 1 : 0)) * header.frameSamples);
    // Padding at the end is not there where a file is cut off, or goes on.
    const audibleMs = msOf(frames * header.frameSamples - startSamples - (frames === declared ? endSamples : 0));
    return allMs - audibleMs < PADDING_MS_MAX ? allMs : audibleMs;
  };
  const isBelieved = summary !== undefined && (await isBelievable(parts, summary, extent));
  if (declared !== undefined && isBelieved) return lengthOf(declared);
  const bytes = bytesFrom(extent, extent.firstFrame);
  if (bytes === undefined) return undefined;
  const { isRandomAccess } = parts.source;
  if (isRandomAccess && !extent.isMeasured) return undefined;
  const isConstant =
    summary?.kind !== "vbr" && extent.sample.isConstant && (await tailOf(parts, extent)).isConstant !== false;
  if (isConstant) return lengthOf(Math.floor((bytes + 8) / exactFrameBytes(header)));
  const { frameBytes } = extent.sample;
  if (!isRandomAccess) return lengthOf(declaredCount(bytes / frameBytes, summary, extent));
  const isCounted = bytes <= COUNT_BYTES_MAX;
  const count = await (isCounted ? countFrames(parts, extent) : sampleFrameCount(parts, extent));
  const likely = isCounted ? (declared ?? count) : declaredCount(count, summary, extent);
  const isConfirmed = isNear(count, likely, isCounted ? TOLERANCE : SAMPLED_TOLERANCE);
  return lengthOf(isConfirmed ? likely : count);
}

/** True when the count of the summary agrees with its bytes, those of the file, and the frames at both ends. */
async function isBelievable(parts: ReaderParts, summary: Mp3Summary, extent: Mp3Extent): Promise<boolean> {
  const { header, summaryStart, firstFrame, sample } = extent;
  const { frameCount } = summary;
  const actual = bytesFrom(extent, summaryStart);
  if (frameCount === undefined || actual === undefined) return true;
  const expected = expectedBytes(summary, extent) ?? actual;
  // Cut off, or the number of bytes is wrong.
  if (actual < expected * (1 - TOLERANCE)) return false;
  const isLonger = actual > expected * (1 + TOLERANCE) + 2 * header.sizeBytes;
  // Unless the length is measured, tags behind the audio are not known.
  const isUnknown = parts.source.isRandomAccess && !extent.isMeasured;
  if (isLonger && (isUnknown || (await isContinued(parts, extent, expected)))) return false;
  const audioBytes = expected - (firstFrame - summaryStart);
  const tail = await tailOf(parts, extent);
  const isConstant = summary.kind === "cbr" && sample.isConstant && tail.isConstant !== false;
  if (isConstant) return isNear(frameCount, audioBytes / exactFrameBytes(header), TOLERANCE);
  const sizes = [sample.frameBytes, tail.frameBytes ?? sample.frameBytes];
  const meanBytes = audioBytes / frameCount;
  return meanBytes > Math.min(...sizes) / MEAN_FACTOR_MAX && meanBytes < Math.max(...sizes) * MEAN_FACTOR_MAX;
}

/** A few frames more or less are much in a short file. */
function isNear(count: number, other: number, tolerance: number): boolean {
  return Math.abs(count - other) <= 2 + tolerance * other;
}

/**
 * The number of frames as declared, or the part of it that is there where the file is cut off, whichever is nearer to
 * what a few frames suggest.
 */
function declaredCount(suggested: number, summary: Mp3Summary | undefined, extent: Mp3Extent): number {
  const { frameCount } = summary ?? {};
  if (summary === undefined || frameCount === undefined) return suggested;
  const actual = bytesFrom(extent, extent.summaryStart) ?? 0;
  const part = (frameCount * actual) / (expectedBytes(summary, extent) ?? actual);
  const distance = (count: number) => Math.abs(Math.log(count / suggested));
  return distance(part) < distance(frameCount) ? part : frameCount;
}

/** Mean size of a frame at a constant rate. */
export function exactFrameBytes(header: MpegAudioHeader): number {
  return ((header.frameSamples / 8) * header.bitrateBps) / header.sampleRateHz;
}

/** Bytes from the summary to the end of the audio as the summary says. */
function expectedBytes(summary: Mp3Summary, { header, summaryStart, firstFrame }: Mp3Extent): number | undefined {
  if (summary.sizeBytes !== undefined) return summary.sizeBytes;
  if (summary.kind === "vbr" || summary.frameCount === undefined) return undefined;
  return firstFrame - summaryStart + summary.frameCount * exactFrameBytes(header);
}

function bytesFrom({ audioEnd }: Mp3Extent, start: number): number | undefined {
  return audioEnd === undefined ? undefined : Math.max(0, audioEnd - start);
}

/** True when frames go on behind the end that the summary names: files that were joined. */
async function isContinued({ source }: ReaderParts, extent: Mp3Extent, expected: number): Promise<boolean> {
  if (!source.isRandomAccess) return false;
  const bytes = await new ByteCursor(source, extent.summaryStart + Math.floor(expected)).peek(2 * SAMPLE_BYTES);
  return findFrameIn(bytes, { lastStart: Math.min(BEHIND_BYTES, bytes.length - 4), isEnd: false }) >= 0;
}

interface Tail {
  /** Whether the last frames have the bit rate of the first one; undefined when there are none, or none can be read. */
  readonly isConstant?: boolean;
  /** Their mean size. */
  readonly frameBytes?: number;
}

async function tailOf({ source }: ReaderParts, extent: Mp3Extent): Promise<Tail> {
  const { audioEnd, firstFrame, header, isMeasured } = extent;
  if (!source.isRandomAccess || !isMeasured || audioEnd === undefined) return {};
  // The tags behind were read from the same bytes.
  const cursor = new ByteCursor(source, Math.max(firstFrame, audioEnd - SAMPLE_BYTES));
  const { frameCount, bitrates, sizeBytes } = framesIn(await cursor.peek(SAMPLE_BYTES), extent.word);
  if (frameCount === 0) return {};
  return { isConstant: bitrates.size === 1 && bitrates.has(header.bitrateBps), frameBytes: sizeBytes / frameCount };
}

interface Frames {
  readonly frameCount: number;
  readonly sizeBytes: number;
  readonly bitrates: ReadonlySet<number>;
}

/** The frames of the stream that follow each other in `bytes`, from the first confirmed one on. */
function framesIn(bytes: Uint8Array, streamWord: number): Frames {
  const bitrates = new Set<number>();
  const start = findFrameIn(bytes, { lastStart: bytes.length - 4, isEnd: false });
  let frameCount = 0;
  let at = Math.max(0, start);
  while (start >= 0 && at + 4 <= bytes.length) {
    const word = wordAt(bytes, at);
    const header = parseMpegAudioHeader(word);
    if (header === undefined || !isSameStream(word, streamWord)) break;
    bitrates.add(header.bitrateBps);
    frameCount += 1;
    at += header.sizeBytes;
  }
  return { frameCount, sizeBytes: at - Math.max(0, start), bitrates };
}

/** Counts every frame; junk between them is stepped over. */
async function countFrames({ source, work }: ReaderParts, extent: Mp3Extent): Promise<number> {
  const { firstFrame, audioEnd = firstFrame, word } = extent;
  const cursor = new ByteCursor(source, firstFrame);
  let count = 0;
  while (cursor.position < audioEnd && (await cursor.need(4))) {
    if (work.isSpent) await work.yield();
    const header = parseMpegAudioHeader(cursor.u32be(0));
    const isFrame = header !== undefined && isSameStream(cursor.u32be(0), word);
    if (isFrame) {
      count += 1;
      cursor.skip(header.sizeBytes);
      continue;
    }
    const bytes = await cursor.peek(SAMPLE_BYTES);
    const isEnd = bytes.length < SAMPLE_BYTES;
    // Frames that begin further on cannot be confirmed yet.
    const lastStart = bytes.length - (isEnd ? 4 : CONFIRM_BYTES);
    const found = findFrameIn(bytes.subarray(1), { lastStart: lastStart - 1, isEnd });
    cursor.skip(found < 0 ? Math.max(1, lastStart) : found + 1);
  }
  return count;
}

/** The number of frames by their mean size at points all over the file. */
async function sampleFrameCount({ source, work }: ReaderParts, extent: Mp3Extent): Promise<number> {
  const { firstFrame, audioEnd = firstFrame, sample, word } = extent;
  const partBytes = (audioEnd - firstFrame) / SAMPLE_COUNT;
  let count = 0;
  for (let index = 0; index < SAMPLE_COUNT; index++) {
    if (work.isSpent) await work.yield();
    const cursor = new ByteCursor(source, Math.floor(firstFrame + (index + 0.5) * partBytes));
    const { frameCount, sizeBytes } = framesIn(await cursor.peek(SAMPLE_BYTES), word);
    count += partBytes / (frameCount === 0 ? sample.frameBytes : sizeBytes / frameCount);
  }
  return count;
}
