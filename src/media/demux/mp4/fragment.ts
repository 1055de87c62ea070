// Movie fragments (ISO 14496-12 section 8.8) and the two indexes over them, `sidx` (8.16.3) and `mfra` (8.8.9). Audio
// thread.

import { Fields, findBox, readBoxes } from "./box.ts";
import type { Movie } from "./movie.ts";

/** One sample of a fragment. */
export interface FragmentSample {
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  readonly ticks: number;
  readonly durationTicks: number;
}

export interface FragmentContext {
  readonly trackId: number;
  /** Where the `moof` box starts. */
  readonly positionBytes: number;
  readonly durationTicks: number;
  readonly sizeBytes: number;
  /** Time of the first sample when the fragment does not say. */
  readonly nextTicks: number;
}

/** Samples in one fragment that are believed; 6 minutes of AAC. */
const SAMPLE_COUNT_MAX = 16_384;

/** The samples of the track in the body of a `moof` box. */
export function readFragment(moof: Uint8Array, context: FragmentContext): FragmentSample[] {
  const samples: FragmentSample[] = [];
  for (const { type, body } of readBoxes(moof)) {
    if (type !== "traf") continue;
    const header = findBox(body, "tfhd");
    if (header === undefined || new Fields(header).u32(4) !== context.trackId) continue;
    readRuns(body, { context, header: readTrackHeader(header, context), samples });
  }
  return samples;
}

/** Start time of the track's fragment as it says itself; undefined when it does not. */
export function readFragmentTicks(moof: Uint8Array, trackId: number): number | undefined {
  for (const { type, body } of readBoxes(moof)) {
    const header = type === "traf" ? findBox(body, "tfhd") : undefined;
    if (header !== undefined && new Fields(header).u32(4) === trackId) return readDecodeTime(body);
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
function readTrackHeader(body: Uint8Array, context: FragmentContext): TrackHeader {
  const fields = new Fields(body);
  const flags = fields.u32(0) & 0xffffff;
  let at = 8;
  let { positionBytes: baseBytes, durationTicks, sizeBytes } = context;
  if (flags & 0x01) {
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
  readonly samples: FragmentSample[];
}

function readRuns(traf: Uint8Array, run: RunContext): void {
  let ticks = readDecodeTime(traf) ?? run.context.nextTicks;
  let offset = run.header.baseBytes;
  for (const { type, body } of readBoxes(traf)) {
    if (type !== "trun") continue;
    const fields = new Fields(body);
    const flags = fields.u32(0) & 0xffffff;
    const has = { duration: (flags & 0x100) !== 0, size: (flags & 0x200) !== 0 };
    const entryBytes = [0x100, 0x200, 0x400, 0x800].reduce((bytes, flag) => bytes + (flags & flag ? 4 : 0), 0);
    let at = 8;
    if (flags & 0x01) {
      offset = run.header.baseBytes + fields.s32(at);
      at += 4;
    }
    if (flags & 0x04) at += 4;
    const held = entryBytes === 0 ? SAMPLE_COUNT_MAX : Math.floor(Math.max(0, body.length - at) / entryBytes);
    const count = Math.min(fields.u32(4), held, SAMPLE_COUNT_MAX - run.samples.length);
    for (let index = 0; index < count; index++, at += entryBytes) {
      const durationTicks = has.duration ? fields.u32(at) : run.header.durationTicks;
      const sizeBytes = has.size ? fields.u32(at + (has.duration ? 4 : 0)) : run.header.sizeBytes;
      run.samples.push({ offsetBytes: offset, sizeBytes, ticks, durationTicks });
      offset += sizeBytes;
      ticks += durationTicks;
    }
  }
}

/** A place in the file from where fragments can be read, and the time there. */
export interface FragmentPlace {
  readonly ticks: number;
  readonly positionBytes: number;
}

export interface SegmentIndex {
  readonly places: readonly FragmentPlace[];
  readonly endTicks: number;
}

/** Reads a `sidx` body; `endBytes` is where the box ends. Undefined for an index over further indexes. */
export function readSegmentIndex(
  sidx: Uint8Array,
  place: { endBytes: number; timescale: number },
): SegmentIndex | undefined {
  const fields = new Fields(sidx);
  const isWide = fields.u8(0) === 1;
  const scale = place.timescale / (fields.u32(8) || place.timescale);
  let ticks = (isWide ? fields.u64(12) : fields.u32(12)) * scale;
  let positionBytes = place.endBytes + (isWide ? fields.u64(20) : fields.u32(16));
  let at = isWide ? 28 : 20;
  const count = Math.min(fields.u16(at + 2), Math.floor(Math.max(0, sidx.length - at - 4) / 12));
  const places: FragmentPlace[] = [];
  at += 4;
  for (let index = 0; index < count; index++, at += 12) {
    const size = fields.u32(at);
    if (size >= 2 ** 31) return undefined;
    places.push({ ticks, positionBytes });
    positionBytes += size;
    ticks += fields.u32(at + 4) * scale;
  }
  return places.length === 0 ? undefined : { places, endTicks: ticks };
}

/** Reads the track's places out of an `mfra` body. */
export function readRandomAccess(mfra: Uint8Array, trackId: number): FragmentPlace[] {
  const places: FragmentPlace[] = [];
  for (const { type, body } of readBoxes(mfra)) {
    const fields = new Fields(body);
    if (type !== "tfra" || fields.u32(4) !== trackId) continue;
    const isWide = fields.u8(0) === 1;
    const sizes = fields.u32(8);
    const numberBytes = 3 + ((sizes >> 4) & 3) + ((sizes >> 2) & 3) + (sizes & 3);
    const entryBytes = (isWide ? 16 : 8) + numberBytes;
    const count = Math.min(fields.u32(12), Math.floor(Math.max(0, body.length - 16) / entryBytes));
    for (let index = 0; index < count; index++) {
      const at = 16 + index * entryBytes;
      const ticks = isWide ? fields.u64(at) : fields.u32(at);
      const positionBytes = isWide ? fields.u64(at + 8) : fields.u32(at + 4);
      // An entry per sample is possible: one per fragment is enough.
      if (places.at(-1)?.positionBytes !== positionBytes) places.push({ ticks, positionBytes });
    }
  }
  return places.sort((a, b) => a.ticks - b.ticks);
}

/** What stands in front of the sound of an MP4 file. */
export interface Mp4Head {
  readonly movie: Movie;
  readonly index: SegmentIndex | undefined;
  /** Where the boxes behind the head start. */
  readonly bodyStart: number;
}
