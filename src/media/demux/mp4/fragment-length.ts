// How long a fragmented MP4 file is. Headers and indexes speak for what was known when they were written: the last
// fragment itself is the witness, found at the end of the file. Audio thread.

import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import { readOwned } from "../owned-bytes.ts";
import { SeekIndex, type SeekPoint } from "../seek-index.ts";
import { BOX_HEADER_BYTES_MAX, type BoxHeader, parseBoxHeader } from "./box.ts";
import { type FragmentContext, type Mp4Head, readFragment, readFragmentTicks, readRandomAccess } from "./fragment.ts";
import { FragmentClock } from "./fragment-clock.ts";
import type { FragmentSamples } from "./fragment-samples.ts";
import type { Movie } from "./movie.ts";

/** Largest `moof`: 3 hours of AAC take 4 bytes a sample, or 8. */
export const FRAGMENT_BYTES_MAX = 4 * 1024 * 1024;
const INDEX_BYTES_MAX = 4 * 1024 * 1024;
/** How much of the end of the file is searched for the last fragment, in this order. */
const TAIL_BYTES = [32 * 1024, 256 * 1024, 1024 * 1024];
/** Boxes that are walked through behind the last fragment that is known, and where none is. */
const WALKED_BOXES_MAX = 64;
/** Less than this is no audio: a byte a second, against a header that claims hours. */
const BYTES_PER_SECOND_MIN = 100;

/** The length, and whether the fragments themselves confirm it. */
export interface FragmentedLength {
  readonly lengthMs: number | undefined;
  readonly isMeasured: boolean;
  /** A separate index for a file whose times go back: the ones in the file are those of its parts. */
  readonly seekPoints?: SeekIndex;
}

interface Opening {
  readonly head: Mp4Head;
  /** Completed from the index at the end of the file. */
  readonly seekPoints: SeekIndex;
}

/** Reads what says how long the file is, as far as the source allows. */
export async function measureFragments(parts: ReaderParts, { head, seekPoints }: Opening): Promise<FragmentedLength> {
  const { movie, bodyStart, index } = head;
  const { source } = parts;
  const { sizeBytes } = source;
  const toMs = (ticks: number) => Math.floor((1000 * ticks) / movie.timescale);
  const isWhole = index !== undefined && sizeBytes !== undefined && index.endBytes >= sizeBytes;
  if (!isWhole && source.isRandomAccess && sizeBytes !== undefined) {
    await readTailIndex(parts, movie, seekPoints);
    const endTicks = await findEnd(parts, { movie, sizeBytes, latest: seekPoints.latest, bodyStart });
    const startTicks = await findStart(parts, { head, seekPoints });
    const joined = await measureJoined(parts, head, (endTicks ?? 0) - startTicks);
    if (joined !== undefined) return { lengthMs: toMs(joined.ticks), isMeasured: true, seekPoints: joined.seekPoints };
    if (endTicks !== undefined) return { lengthMs: toMs(endTicks - startTicks), isMeasured: true };
  }
  const startTicks = seekPoints.earliest?.time ?? 0;
  const indexedMs = index && toMs(index.endTicks - startTicks);
  // Some writers put an index in front of each fragment: in a file of unknown size that of one may be the first of many.
  const isUsable = index !== undefined && index.partCount > 1;
  if (isWhole || (isUsable && sizeBytes === undefined)) return { lengthMs: indexedMs, isMeasured: isWhole };
  const declaredMs = movie.fragments?.lengthMs;
  const isLie = declaredMs !== undefined && (sizeBytes ?? Infinity) < (declaredMs / 1000) * BYTES_PER_SECOND_MIN;
  if (declaredMs !== undefined && !isLie) return { lengthMs: declaredMs, isMeasured: false };
  if (sizeBytes === undefined) return { lengthMs: undefined, isMeasured: false };
  return { lengthMs: estimateMs(head, indexedMs, sizeBytes), isMeasured: false };
}

/** From an index of the first part, by the bytes of the whole. */
function estimateMs(head: Mp4Head, indexedMs: number | undefined, sizeBytes: number): number | undefined {
  const { index, bodyStart } = head;
  if (indexedMs === undefined || index === undefined) return undefined;
  const indexedBytes = index.endBytes - bodyStart;
  return indexedBytes > 0 ? Math.floor((indexedMs * (sizeBytes - bodyStart)) / indexedBytes) : indexedMs;
}

/** Reads `mfra`; `mfro`, the last box, says how far back it starts. */
async function readTailIndex({ source, work }: ReaderParts, movie: Movie, seekPoints: SeekIndex): Promise<void> {
  if (source.sizeBytes === undefined || source.sizeBytes < 16) return;
  const tail = await new ByteCursor(source, source.sizeBytes - 16).peek(16);
  const header = parseBoxHeader(tail);
  if (header?.type !== "mfro") return;
  const sizeBytes = new DataView(tail.buffer, tail.byteOffset).getUint32(12);
  if (sizeBytes < 24 || sizeBytes > Math.min(INDEX_BYTES_MAX, source.sizeBytes)) return;
  const cursor = new ByteCursor(source, source.sizeBytes - sizeBytes);
  const box = await readOwned(cursor, { sizeBytes, work, purpose: "its index" });
  if (parseBoxHeader(box)?.type === "mfra") {
    await readRandomAccess(box.subarray(8), { trackId: movie.trackId, seekPoints, work });
  }
  work.release(box.length);
}

interface Range {
  readonly movie: Movie;
  readonly sizeBytes: number;
  /** The last fragment that an index names. */
  readonly latest: SeekPoint | undefined;
  readonly bodyStart: number;
}

async function findEnd(parts: ReaderParts, range: Range): Promise<number | undefined> {
  const { movie, sizeBytes, latest, bodyStart } = range;
  if (latest !== undefined) {
    const walked = await walk(parts, movie, latest);
    if (walked.isAtEnd && walked.endTicks !== undefined) return walked.endTicks;
  }
  for (const tailBytes of TAIL_BYTES) {
    const start = Math.max(bodyStart, sizeBytes - tailBytes);
    const endTicks = await searchTail(parts, movie, { start, sizeBytes });
    if (endTicks !== undefined) return endTicks;
    if (start === bodyStart) break;
  }
  const walked = await walk(parts, movie, latest ?? { positionBytes: bodyStart, time: movie.table.totalTicks });
  if (!walked.isAtEnd) return undefined;
  // No fragment at all: the table is the whole file.
  return walked.endTicks ?? (movie.table.totalTicks || undefined);
}

/** Boxes walked through to see how the bytes relate to the time, and in files that last longer than their last fragment. */
const SAMPLE_BOXES = 8;
const JOINED_BOXES_MAX = 512;
/** By how much the bytes may speak for a longer time. */
const VARIATION = 1.5;

interface Joined {
  readonly ticks: number;
  readonly seekPoints: SeekIndex;
}

/**
 * The sum of the parts of a file whose times go back (joined files, or 0 in each fragment); undefined for others. What is
 * beyond the boxes that are walked through is estimated.
 */
async function measureJoined(parts: ReaderParts, head: Mp4Head, lastTicks: number): Promise<Joined | undefined> {
  const sizeBytes = (parts.source.sizeBytes ?? 0) - head.bodyStart;
  const sample = await sumFragments(parts, head, SAMPLE_BOXES);
  const isLonger = !sample.isAtEnd && sample.ticks * (sizeBytes / sample.bytes) > VARIATION * lastTicks;
  const sum = isLonger && !sample.hasGoneBack ? await sumFragments(parts, head, JOINED_BOXES_MAX) : sample;
  if (!sum.hasGoneBack) return undefined;
  const whole = sum.isAtEnd ? sum : await sumFragments(parts, head, JOINED_BOXES_MAX);
  const { seekPoints } = whole;
  return { ticks: whole.isAtEnd ? whole.ticks : whole.ticks * (sizeBytes / whole.bytes), seekPoints };
}

interface Sum extends Joined {
  readonly bytes: number;
  readonly hasGoneBack: boolean;
  readonly isAtEnd: boolean;
}

async function sumFragments({ source, work }: ReaderParts, head: Mp4Head, boxesMax: number): Promise<Sum> {
  const { movie, bodyStart } = head;
  const cursor = new ByteCursor(source, bodyStart);
  const clock = new FragmentClock(movie);
  const seekPoints = new SeekIndex(work);
  let startTicks = movie.table.sampleCount > 0 ? 0 : undefined;
  let isAtEnd = false;
  for (let count = 0; count < boxesMax && !isAtEnd; count++) {
    if (work.isSpent) await work.yield();
    const header = parseBoxHeader(await cursor.peek(BOX_HEADER_BYTES_MAX));
    isAtEnd = header === undefined || cursor.position + header.sizeBytes >= (source.sizeBytes ?? 0);
    if (header === undefined) break;
    const positionBytes = cursor.position;
    if (header.type === "moof" && header.sizeBytes <= FRAGMENT_BYTES_MAX) {
      const context = fragmentContext(movie, { positionBytes, nextTicks: clock.nextTicks - clock.offsetTicks });
      const samples = await readWholeFragment(cursor, { header, context, work });
      const ticks = clock.enter(samples);
      startTicks ??= ticks;
      if (ticks !== undefined) seekPoints.add(ticks, positionBytes);
      samples.close();
    }
    cursor.moveTo(positionBytes + header.sizeBytes);
  }
  const bytes = Math.max(1, cursor.position - bodyStart);
  const { nextTicks, hasGoneBack } = clock;
  return { ticks: Math.max(0, nextTicks - (startTicks ?? 0)), seekPoints, bytes, hasGoneBack, isAtEnd };
}

interface Walk {
  /** Where the last fragment of the track ends; undefined when there was none. */
  readonly endTicks: number | undefined;
  readonly isAtEnd: boolean;
}

/** From box to box, reading the fragments among them, which need not say when they start. */
async function walk({ source, work }: ReaderParts, movie: Movie, from: SeekPoint): Promise<Walk> {
  const cursor = new ByteCursor(source, from.positionBytes);
  let endTicks: number | undefined;
  for (let count = 0; count < WALKED_BOXES_MAX; count++) {
    if (work.isSpent) await work.yield();
    const header = parseBoxHeader(await cursor.peek(BOX_HEADER_BYTES_MAX));
    if (header === undefined) return { endTicks, isAtEnd: cursor.position >= (source.sizeBytes ?? 0) };
    const positionBytes = cursor.position;
    if (header.type === "moof" && header.sizeBytes <= FRAGMENT_BYTES_MAX) {
      const nextTicks = endTicks ?? from.time;
      const context = fragmentContext(movie, { positionBytes, nextTicks });
      const samples = await readWholeFragment(cursor, { header, context, work });
      if (samples.startTicks !== undefined) endTicks = samples.endTicks;
      samples.close();
    }
    const next = positionBytes + header.sizeBytes;
    if (next >= (source.sizeBytes ?? Infinity)) return { endTicks, isAtEnd: true };
    cursor.moveTo(next);
  }
  return { endTicks, isAtEnd: false };
}

/** The last fragment of the track that begins between `start` and the end, and says when. */
async function searchTail(
  { source, work }: ReaderParts,
  movie: Movie,
  { start, sizeBytes }: { start: number; sizeBytes: number },
): Promise<number | undefined> {
  const tail = await readTail(source, work, { start, sizeBytes: sizeBytes - start });
  try {
    for (const at of await chainOfFragments(tail, work)) {
      const header = parseBoxHeader(tail, at)!;
      const body = tail.subarray(at + header.headerBytes, at + header.sizeBytes);
      if (body.length < header.sizeBytes - header.headerBytes) continue;
      const startTicks = await readFragmentTicks(body, movie.trackId, work);
      if (startTicks === undefined) continue;
      const context = fragmentContext(movie, { positionBytes: start + at, nextTicks: startTicks });
      const samples = await readFragment(body, context, work);
      const endTicks = samples.startTicks === undefined ? undefined : samples.endTicks;
      samples.close();
      if (endTicks !== undefined) return endTicks;
    }
    return undefined;
  } finally {
    work.release(tail.length);
  }
}

function readTail(
  source: ByteSource,
  work: DemuxWork,
  { start, sizeBytes }: { start: number; sizeBytes: number },
): Promise<Uint8Array> {
  return readOwned(new ByteCursor(source, start), { sizeBytes, work, purpose: "the end of the file" });
}

/** Bytes that look like the start of a fragment, and are not: tried so many times. */
const CANDIDATES_MAX = 64;

/** Where fragments start, last one first: those of the first chain of boxes that reaches the end. */
async function chainOfFragments(tail: Uint8Array, work: DemuxWork): Promise<number[]> {
  const buffer = Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength);
  let type = buffer.indexOf("moof", 4, "latin1");
  for (let count = 0; count < CANDIDATES_MAX && type >= 0; count++) {
    if (work.isSpent) await work.yield();
    const found: number[] = [];
    let at = type - 4;
    for (let boxes = 0; boxes < tail.length / 8 && at < tail.length; boxes++) {
      if (boxes % 256 === 0 && work.isSpent) await work.yield();
      const header = parseBoxHeader(tail, at);
      if (header === undefined || !/^[\x20-\x7e]{4}$/.test(header.type)) break;
      if (header.type === "moof") found.push(at);
      at += header.sizeBytes;
    }
    // The last box may be cut off.
    if (at >= tail.length) return found.reverse();
    type = buffer.indexOf("moof", type + 4, "latin1");
  }
  return [];
}

/** When the first audio starts: that of the table, else of the first fragment. */
async function findStart({ source, work }: ReaderParts, { head, seekPoints }: Opening): Promise<number> {
  const { movie, bodyStart } = head;
  if (movie.table.sampleCount > 0) return 0;
  const cursor = new ByteCursor(source, bodyStart);
  for (let count = 0; count < WALKED_BOXES_MAX; count++) {
    const header = parseBoxHeader(await cursor.peek(BOX_HEADER_BYTES_MAX));
    if (header === undefined || header.sizeBytes > (source.sizeBytes ?? 0)) break;
    const positionBytes = cursor.position;
    if (header.type === "moof" && header.sizeBytes <= FRAGMENT_BYTES_MAX) {
      const box = await readOwned(cursor, { sizeBytes: header.sizeBytes, work, purpose: "a fragment's tables" });
      const ticks = await readFragmentTicks(box.subarray(header.headerBytes), movie.trackId, work);
      work.release(box.length);
      if (ticks !== undefined) return ticks;
    }
    cursor.moveTo(positionBytes + header.sizeBytes);
  }
  return seekPoints.earliest?.time ?? 0;
}

/** What a fragment leaves out. */
export function fragmentContext(
  movie: Movie,
  { positionBytes, nextTicks }: { positionBytes: number; nextTicks: number },
): FragmentContext {
  const { durationTicks = 0, sizeBytes = 0 } = movie.fragments ?? {};
  return { trackId: movie.trackId, durationTicks, sizeBytes, positionBytes, nextTicks };
}

interface FragmentStart {
  readonly header: BoxHeader;
  readonly context: FragmentContext;
  readonly work: DemuxWork;
}

/** The samples of the fragment whose `moof` is at the cursor; moves behind it. */
export async function readWholeFragment(cursor: ByteCursor, point: FragmentStart): Promise<FragmentSamples> {
  const { header, context, work } = point;
  const box = await readOwned(cursor, { sizeBytes: header.sizeBytes, work, purpose: "a fragment's tables" });
  const samples = await readFragment(box.subarray(header.headerBytes), context, work);
  work.release(box.length);
  return samples;
}
