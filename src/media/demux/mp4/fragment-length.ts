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
/** Jumps over more than this take a new connection each: so many may be made for one length. */
const FAR_BYTES = 256 * 1024;
const FAR_JUMPS_MAX = 16;
/** Less than this is no audio: a byte a second, against a header that claims hours. */
const BYTES_PER_SECOND_MIN = 100;

/** The length, and whether the fragments themselves confirm it. */
export interface FragmentedLength {
  readonly lengthMs: number | undefined;
  readonly isMeasured: boolean;
  /** False: the index at the end of the file has not been read. */
  readonly isTailRead: boolean;
  /** A separate index for a file whose times go back: the ones in the file are those of its parts. */
  readonly seekPoints?: SeekIndex;
}

interface Opening {
  readonly head: Mp4Head;
  /** Completed from the index at the end of the file. */
  readonly seekPoints: SeekIndex;
}

/** Reads what says how long the file is, as far as the source allows; in front only when the length is not needed. */
export async function measureFragments(
  parts: ReaderParts,
  { head, seekPoints, isLengthNeeded }: Opening & { readonly isLengthNeeded: boolean },
): Promise<FragmentedLength> {
  const { movie, bodyStart, index } = head;
  const { source } = parts;
  const { sizeBytes } = source;
  const toMs = (ticks: number) => Math.floor((1000 * ticks) / movie.timescale);
  const isWhole = index !== undefined && sizeBytes !== undefined && index.endBytes >= sizeBytes;
  const isTailReadable = !isWhole && source.isRandomAccess && sizeBytes !== undefined;
  if (isTailReadable && !isLengthNeeded) return { lengthMs: undefined, isMeasured: false, isTailRead: false };
  let sampledMs: number | undefined;
  if (isTailReadable) {
    await readTailIndex(parts, movie, seekPoints);
    const jumps = new FarJumps();
    const sample = await sumFragments(parts, head, { boxesMax: SAMPLE_BOXES, jumps });
    const endTicks = await findEnd(parts, { movie, sizeBytes, latest: seekPoints.latest, bodyStart, jumps });
    const startTicks = await findStart(parts, { head, seekPoints, jumps });
    const lastTicks = endTicks === undefined ? undefined : endTicks - startTicks;
    const joined = await measureJoined(parts, head, { sample, lastTicks, jumps });
    if (joined !== undefined) {
      seekPoints.close();
      const { isAtEnd } = joined;
      const lengthMs = toMs(ticksOf(joined, sizeBytes - bodyStart));
      return { lengthMs, isMeasured: isAtEnd, isTailRead: true, seekPoints: joined.seekPoints };
    }
    sample.seekPoints.close();
    if (lastTicks !== undefined) return { lengthMs: toMs(lastTicks), isMeasured: true, isTailRead: true };
    if (sample.ticks > 0) sampledMs = toMs(ticksOf(sample, sizeBytes - bodyStart));
  }
  return { ...declaredLength(head, { seekPoints, sizeBytes, isWhole, sampledMs }), isTailRead: true };
}

interface Declared {
  readonly seekPoints: SeekIndex;
  readonly sizeBytes: number | undefined;
  readonly isWhole: boolean;
  /** By the bytes of the first fragments. */
  readonly sampledMs: number | undefined;
}

/** What the head says, as far as it is plausible, or an estimate. */
function declaredLength(
  head: Mp4Head,
  { seekPoints, sizeBytes, isWhole, sampledMs }: Declared,
): Pick<FragmentedLength, "lengthMs" | "isMeasured"> {
  const { movie, index } = head;
  const startTicks = seekPoints.earliest?.time ?? 0;
  const indexedMs = index && Math.floor((1000 * (index.endTicks - startTicks)) / movie.timescale);
  // Some writers put an index in front of each fragment: in a file of unknown size that of one may be the first of many.
  const isUsable = index !== undefined && index.partCount > 1;
  if (isWhole || (isUsable && sizeBytes === undefined)) return { lengthMs: indexedMs, isMeasured: isWhole };
  const declaredMs = movie.fragments?.lengthMs;
  const isLie = declaredMs !== undefined && (sizeBytes ?? Infinity) < (declaredMs / 1000) * BYTES_PER_SECOND_MIN;
  if (declaredMs !== undefined && !isLie) return { lengthMs: declaredMs, isMeasured: false };
  if (sizeBytes === undefined) return { lengthMs: undefined, isMeasured: false };
  return { lengthMs: estimateMs(head, indexedMs, sizeBytes) ?? sampledMs, isMeasured: false };
}

/** From an index of the first part, by the bytes of the whole. */
function estimateMs(head: Mp4Head, indexedMs: number | undefined, sizeBytes: number): number | undefined {
  const { index, bodyStart } = head;
  if (indexedMs === undefined || index === undefined) return undefined;
  const indexedBytes = index.endBytes - bodyStart;
  return indexedBytes > 0 ? Math.floor((indexedMs * (sizeBytes - bodyStart)) / indexedBytes) : indexedMs;
}

/** Boxes of which a file consists behind its head. */
const BODY_BOXES = ["moof", "mdat", "free", "skip", "styp", "sidx", "emsg", "prft", "uuid", "mfra"];

/**
 * The seek points of the index at the end of the file; undefined when it has none, or that of the last one of joined
 * files, whose positions are not those of the whole: then its last fragment is not the last.
 */
export async function readLastSeekPoints(parts: ReaderParts, movie: Movie): Promise<SeekIndex | undefined> {
  const { source, work } = parts;
  const seekPoints = new SeekIndex(work);
  await readTailIndex(parts, movie, seekPoints);
  const { latest } = seekPoints;
  const cursor = new ByteCursor(source, latest?.positionBytes);
  for (let count = 0; count < SAMPLE_BOXES && latest !== undefined; count++) {
    const header = parseBoxHeader(await cursor.peek(BOX_HEADER_BYTES_MAX));
    if (header === undefined || !BODY_BOXES.includes(header.type)) break;
    const isLast = cursor.position + header.sizeBytes >= (source.sizeBytes ?? 0);
    if (header.type === "mfra" && isLast) return seekPoints;
    cursor.skip(header.sizeBytes);
  }
  seekPoints.close();
  return undefined;
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
  readonly jumps: FarJumps;
}

async function findEnd(parts: ReaderParts, range: Range): Promise<number | undefined> {
  const { movie, sizeBytes, latest, bodyStart, jumps } = range;
  if (latest !== undefined) {
    const walked = await walk(parts, movie, { from: latest, jumps });
    if (walked.isAtEnd && walked.endTicks !== undefined) return walked.endTicks;
  }
  for (const tailBytes of TAIL_BYTES) {
    const start = Math.max(bodyStart, sizeBytes - tailBytes);
    const endTicks = await searchTail(parts, movie, { start, sizeBytes });
    if (endTicks !== undefined) return endTicks;
    if (start === bodyStart) break;
  }
  const from = latest ?? { positionBytes: bodyStart, time: movie.table.totalTicks };
  const walked = await walk(parts, movie, { from, jumps });
  if (!walked.isAtEnd) return undefined;
  // No fragment at all: the table is the whole file.
  return walked.endTicks ?? (movie.table.totalTicks || undefined);
}

/** Counts the jumps that one length may take. */
class FarJumps {
  #count = 0;

  /** Moves the cursor behind the box; false when that would be one far jump too many. */
  pass(cursor: ByteCursor, positionBytes: number, { sizeBytes }: BoxHeader): boolean {
    const end = positionBytes + sizeBytes;
    if (end - cursor.position > FAR_BYTES) this.#count += 1;
    if (this.#count > FAR_JUMPS_MAX) return false;
    cursor.moveTo(end);
    return true;
  }
}

/** Boxes walked through to see how the bytes relate to the time, and in files that last longer than their last fragment. */
const SAMPLE_BOXES = 8;
const JOINED_BOXES_MAX = 512;
/** Larger files are walked through only when their first fragments show that times go back. */
const JOINED_BYTES_MAX = 16 * 1024 * 1024;
/** By how much the bytes may speak for a longer time. */
const VARIATION = 1.5;

interface Sampled {
  readonly sample: Sum;
  /** The length by the last fragment; undefined when that is not found. */
  readonly lastTicks: number | undefined;
  readonly jumps: FarJumps;
}

/** The parts of a file whose times go back (joined files, or 0 in each fragment); undefined for others. */
async function measureJoined(parts: ReaderParts, head: Mp4Head, sampled: Sampled): Promise<Sum | undefined> {
  const { sample, lastTicks, jumps } = sampled;
  const sizeBytes = (parts.source.sizeBytes ?? 0) - head.bodyStart;
  if (!sample.hasGoneBack) {
    if (sample.isAtEnd || lastTicks === undefined || sizeBytes > JOINED_BYTES_MAX) return undefined;
    if (ticksOf(sample, sizeBytes) <= VARIATION * lastTicks) return undefined;
  } else if (sample.isAtEnd) return sample;
  const sum = await sumFragments(parts, head, { boxesMax: JOINED_BOXES_MAX, jumps });
  const { discarded, joined } = sum.hasGoneBack
    ? { discarded: sample, joined: sum }
    : { discarded: sum, joined: undefined };
  discarded.seekPoints.close();
  return joined;
}

interface Sum {
  readonly ticks: number;
  readonly seekPoints: SeekIndex;
  readonly bytes: number;
  readonly hasGoneBack: boolean;
  readonly isAtEnd: boolean;
}

/** The time of `sizeBytes`: what is beyond the boxes that were walked through is estimated. */
function ticksOf({ ticks, bytes, isAtEnd }: Sum, sizeBytes: number): number {
  return isAtEnd ? ticks : ticks * (sizeBytes / bytes);
}

async function sumFragments(
  { source, work }: ReaderParts,
  head: Mp4Head,
  { boxesMax, jumps }: { readonly boxesMax: number; readonly jumps: FarJumps },
): Promise<Sum> {
  const { movie, bodyStart } = head;
  const cursor = new ByteCursor(source, bodyStart);
  const clock = new FragmentClock(movie);
  const seekPoints = new SeekIndex(work);
  let startTicks = movie.table.sampleCount > 0 ? 0 : undefined;
  let isAtEnd = false;
  let endBytes = bodyStart;
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
    endBytes = positionBytes + header.sizeBytes;
    if (!jumps.pass(cursor, positionBytes, header)) break;
  }
  const bytes = Math.max(1, endBytes - bodyStart);
  const { nextTicks, hasGoneBack } = clock;
  return { ticks: Math.max(0, nextTicks - (startTicks ?? 0)), seekPoints, bytes, hasGoneBack, isAtEnd };
}

interface Walk {
  /** Where the last fragment of the track ends; undefined when there was none. */
  readonly endTicks: number | undefined;
  readonly isAtEnd: boolean;
}

/** From box to box, reading the fragments among them, which need not say when they start. */
async function walk(
  { source, work }: ReaderParts,
  movie: Movie,
  { from, jumps }: { readonly from: SeekPoint; readonly jumps: FarJumps },
): Promise<Walk> {
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
    if (positionBytes + header.sizeBytes >= (source.sizeBytes ?? Infinity)) return { endTicks, isAtEnd: true };
    if (!jumps.pass(cursor, positionBytes, header)) break;
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
async function findStart(
  { source, work }: ReaderParts,
  { head, seekPoints, jumps }: Opening & { readonly jumps: FarJumps },
): Promise<number> {
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
    if (!jumps.pass(cursor, positionBytes, header)) break;
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
