// Movie fragments (ISO 14496-12 section 8.8) and the two indexes over them, `sidx` (8.16.3) and `mfra` (8.8.9). Audio
// thread.

import type { DemuxWork } from "../demux-work.ts";
import { SeekIndex } from "../seek-index.ts";
import { DURATION_MAX, Fields, findBox, readBoxes } from "./box.ts";
import { FragmentSamples, SAMPLE_COUNT_MAX } from "./fragment-samples.ts";
import type { Movie } from "./movie.ts";

/** Entries of a table read in one step: some tens of microseconds. */
const STEP_COUNT = 256;

export interface FragmentContext {
  readonly trackId: number;
  /** Where the `moof` box starts. */
  readonly positionBytes: number;
  readonly durationTicks: number;
  readonly sizeBytes: number;
  /** Time of the first sample when the fragment does not declare it. */
  readonly nextTicks: number;
}

/** The samples of the track in the body of a `moof` box. */
export async function readFragment(
  moof: Uint8Array,
  context: FragmentContext,
  work: DemuxWork,
): Promise<FragmentSamples> {
  const samples = new FragmentSamples(work);
  // The parts in front: read, once each, only when an own one starts where they end.
  const before: Uint8Array[] = [];
  let baseBytes = context.positionBytes;
  for (const { type, body } of readBoxes(moof)) {
    if (work.isSpent) await work.yield();
    if (type !== "traf") continue;
    const header = await findTrackHeader(body, context.trackId, work);
    if (header !== undefined) {
      const isRelative = (new Fields(header).u32(0) & (HAS_BASE | IS_BASE_MOOF)) === 0;
      if (isRelative) baseBytes = await dataEnd(before.splice(0), { ...context, baseBytes }, work);
      await readRuns(body, { context, header: readTrackHeader(header, { ...context, baseBytes }), samples, work });
    }
    before.push(body);
  }
  return samples;
}

/** Flags of `tfhd` that say what positions count from; without them it is the end of the data of the track before. */
const HAS_BASE = 0x01;
const IS_BASE_MOOF = 0x020000;

/** Where the data of these track fragments ends: that of the last one. */
async function dataEnd(
  trafs: readonly Uint8Array[],
  context: FragmentContext & { readonly baseBytes: number },
  work: DemuxWork,
): Promise<number> {
  let { baseBytes } = context;
  for (const traf of trafs) {
    const header = findBox(traf, "tfhd");
    if (header === undefined) continue;
    baseBytes = await runsEnd(traf, readTrackHeader(header, { ...context, sizeBytes: 0, baseBytes }), work);
  }
  return baseBytes;
}

/** Where the samples of a track's runs end. */
async function runsEnd(traf: Uint8Array, header: TrackHeader, work: DemuxWork): Promise<number> {
  let offset = header.baseBytes;
  for (const { type, body } of readBoxes(traf)) {
    if (type !== "trun") continue;
    const { offsetBytes, count, at, entryBytes, sizeAt } = readRunHeader(body);
    if (offsetBytes !== undefined) offset = header.baseBytes + offsetBytes;
    const fields = new Fields(body);
    if (sizeAt === undefined) offset += count * header.sizeBytes;
    for (let index = 0; index < count && sizeAt !== undefined; index++) {
      if (index % STEP_COUNT === 0 && work.isSpent) await work.yield();
      offset += fields.u32(at + index * entryBytes + sizeAt);
    }
  }
  return offset;
}

interface RunHeader {
  /** Against the base of the track's fragment; undefined directly behind the run before. */
  readonly offsetBytes: number | undefined;
  readonly count: number;
  /** Where the entries start, and how long each is. */
  readonly at: number;
  readonly entryBytes: number;
  /** Where in an entry its fields are; undefined when it has none. */
  readonly durationAt: number | undefined;
  readonly sizeAt: number | undefined;
}

function readRunHeader(trun: Uint8Array): RunHeader {
  const fields = new Fields(trun);
  const flags = fields.u32(0) & 0xffffff;
  const entryBytes = [0x100, 0x200, 0x400, 0x800].reduce((bytes, flag) => bytes + (flags & flag ? 4 : 0), 0);
  const durationAt = flags & 0x100 ? 0 : undefined;
  const sizeAt = flags & 0x200 ? (durationAt === undefined ? 0 : 4) : undefined;
  const at = 8 + (flags & 0x01 ? 4 : 0) + (flags & 0x04 ? 4 : 0);
  const held = entryBytes === 0 ? SAMPLE_COUNT_MAX : Math.floor(Math.max(0, trun.length - at) / entryBytes);
  const offsetBytes = flags & 0x01 ? fields.s32(8) : undefined;
  return { offsetBytes, count: Math.min(fields.u32(4), held), at, entryBytes, durationAt, sizeAt };
}

/** Start time that the track's fragment declares; undefined when it does not. */
export async function readFragmentTicks(
  moof: Uint8Array,
  trackId: number,
  work: DemuxWork,
): Promise<number | undefined> {
  for (const { type, body } of readBoxes(moof)) {
    if (work.isSpent) await work.yield();
    const header = type === "traf" ? await findTrackHeader(body, trackId, work) : undefined;
    if (header !== undefined) return readDecodeTime(body);
  }
  return undefined;
}

/** The `tfhd` of a `traf` that belongs to the track. */
async function findTrackHeader(traf: Uint8Array, trackId: number, work: DemuxWork): Promise<Uint8Array | undefined> {
  for (const { type, body } of readBoxes(traf)) {
    if (work.isSpent) await work.yield();
    if (type === "tfhd") return new Fields(body).u32(4) === trackId ? body : undefined;
  }
  return undefined;
}

function readDecodeTime(traf: Uint8Array): number | undefined {
  const body = findBox(traf, "tfdt");
  if (body === undefined) return undefined;
  const fields = new Fields(body);
  return fields.u8(0) === 1 ? fields.u64(4) : fields.u32(4);
}

interface TrackHeader {
  readonly baseBytes: number;
  readonly durationTicks: number;
  readonly sizeBytes: number;
}

/** tfhd: flags say which of the optional fields follow. */
function readTrackHeader(body: Uint8Array, context: FragmentContext & { readonly baseBytes: number }): TrackHeader {
  const fields = new Fields(body);
  const flags = fields.u32(0) & 0xffffff;
  let at = 8;
  let { positionBytes, baseBytes, durationTicks, sizeBytes } = context;
  if (flags & IS_BASE_MOOF) baseBytes = positionBytes;
  if (flags & HAS_BASE) {
    baseBytes = fields.u64(at);
    at += 8;
  }
  if (flags & 0x02) at += 4;
  if (flags & 0x08) {
    durationTicks = fields.u32(at);
    at += 4;
  }
  if (flags & 0x10) sizeBytes = fields.u32(at);
  return { baseBytes, durationTicks, sizeBytes };
}

interface RunContext {
  readonly context: FragmentContext;
  readonly header: TrackHeader;
  readonly samples: FragmentSamples;
  readonly work: DemuxWork;
}

async function readRuns(traf: Uint8Array, run: RunContext): Promise<void> {
  const { samples, work } = run;
  let ticks = readDecodeTime(traf) ?? run.context.nextTicks;
  let offset = run.header.baseBytes;
  for (const { type, body } of readBoxes(traf)) {
    if (work.isSpent) await work.yield();
    if (type !== "trun") continue;
    const fields = new Fields(body);
    const { offsetBytes, count, at, entryBytes, durationAt, sizeAt } = readRunHeader(body);
    if (offsetBytes !== undefined) offset = run.header.baseBytes + offsetBytes;
    if (entryBytes === 0 && run.header.sizeBytes === 0) {
      const durationTicks = count * run.header.durationTicks;
      samples.add({ offsetBytes: offset, sizeBytes: 0, ticks, durationTicks });
      ticks += durationTicks;
      continue;
    }
    for (let index = 0; index < count && !samples.isFull; index++) {
      if (index % STEP_COUNT === 0 && work.isSpent) await work.yield();
      const entry = at + index * entryBytes;
      const claimedTicks = durationAt === undefined ? run.header.durationTicks : fields.u32(entry + durationAt);
      const durationTicks = claimedTicks < DURATION_MAX ? claimedTicks : run.context.durationTicks % DURATION_MAX;
      const sizeBytes = sizeAt === undefined ? run.header.sizeBytes : fields.u32(entry + sizeAt);
      samples.add({ offsetBytes: offset, sizeBytes, ticks, durationTicks });
      offset += sizeBytes;
      ticks += durationTicks;
    }
  }
}

/** Where fragments can be read from, and the ticks there. */
export interface SegmentIndex {
  readonly seekPoints: SeekIndex;
  /** Parts that it lists. */
  readonly partCount: number;
  readonly endTicks: number;
  /** Where the last part that it lists ends: not always the end of the file. */
  readonly endBytes: number;
}

interface SegmentIndexContext {
  /** Where the box ends. */
  readonly endBytes: number;
  readonly timescale: number;
  readonly work: DemuxWork;
}

/** Reads a `sidx` body. Undefined for an index over further indexes. */
export async function readSegmentIndex(
  sidx: Uint8Array,
  { endBytes, timescale, work }: SegmentIndexContext,
): Promise<SegmentIndex | undefined> {
  const fields = new Fields(sidx);
  const isWide = fields.u8(0) === 1;
  const scale = timescale / (fields.u32(8) || timescale);
  let ticks = (isWide ? fields.u64(12) : fields.u32(12)) * scale;
  let positionBytes = endBytes + (isWide ? fields.u64(20) : fields.u32(16));
  let at = isWide ? 28 : 20;
  const count = Math.min(fields.u16(at + 2), Math.floor(Math.max(0, sidx.length - at - 4) / 12));
  const seekPoints = new SeekIndex(work);
  at += 4;
  for (let index = 0; index < count; index++, at += 12) {
    if (index % STEP_COUNT === 0 && work.isSpent) await work.yield();
    const size = fields.u32(at);
    if (size >= 2 ** 31) return undefined;
    seekPoints.add(ticks, positionBytes);
    positionBytes += size;
    ticks += fields.u32(at + 4) * scale;
  }
  const partCount = seekPoints.count;
  return partCount === 0 ? undefined : { seekPoints, partCount, endTicks: ticks, endBytes: positionBytes };
}

/** Adds the track's seek points in an `mfra` body. */
export async function readRandomAccess(
  mfra: Uint8Array,
  { trackId, seekPoints, work }: { trackId: number; seekPoints: SeekIndex; work: DemuxWork },
): Promise<void> {
  for (const { type, body } of readBoxes(mfra)) {
    if (work.isSpent) await work.yield();
    const fields = new Fields(body);
    if (type !== "tfra" || fields.u32(4) !== trackId) continue;
    const isWide = fields.u8(0) === 1;
    const sizes = fields.u32(8);
    const numberBytes = 3 + ((sizes >> 4) & 3) + ((sizes >> 2) & 3) + (sizes & 3);
    const entryBytes = (isWide ? 16 : 8) + numberBytes;
    const count = Math.min(fields.u32(12), Math.floor(Math.max(0, body.length - 16) / entryBytes));
    for (let index = 0; index < count; index++) {
      if (index % STEP_COUNT === 0 && work.isSpent) await work.yield();
      const at = 16 + index * entryBytes;
      const ticks = isWide ? fields.u64(at) : fields.u32(at);
      const positionBytes = isWide ? fields.u64(at + 8) : fields.u32(at + 4);
      // An entry per sample is possible: one per fragment is enough.
      if (seekPoints.newest?.positionBytes !== positionBytes) seekPoints.add(ticks, positionBytes);
    }
  }
}

/** The part of an MP4 file in front of the audio. */
export interface Mp4Head {
  readonly movie: Movie;
  readonly index: SegmentIndex | undefined;
  /** Where the boxes behind the head start. */
  readonly bodyStart: number;
}
