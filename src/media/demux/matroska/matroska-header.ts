// Reads the elements around the audio of a Matroska or WebM file: facts, tracks, tags, and where the cue list is. All
// sizes are bounded; nothing here is read twice. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork } from "../demux-work.ts";
import { readOwned } from "../owned-bytes.ts";
import { decodeTag, type Tags } from "../tags.ts";
import { CLUSTER_SNIFF_BYTES, readClusterUnits } from "./cluster-search.ts";
import { type CueScale, CueTable } from "./cue-table.ts";
import {
  type ElementHeader,
  ID,
  peekElementHeader,
  readElements,
  readFloat,
  readUnsigned,
  UNKNOWN_SIZE,
} from "./ebml.ts";
import { MatroskaTags } from "./matroska-tags.ts";
import { chooseTrack, type MatroskaTrack } from "./matroska-track.ts";

/** Largest body of a header element that is read; the rest of a longer one is skipped. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;
/** Limit of all bodies together. */
const READ_BYTES_MAX = 16 * 1024 * 1024;
/** Elements in front of the first cluster. */
const ELEMENT_COUNT_MAX = 1024;
/** Fields of a small element: more is damage. */
const FIELD_COUNT_MAX = 64;
/** A first cluster this late is not just the delay of an encoder. */
const START_MS_MIN = 1000;
const READ_IDS = [ID.seekHead, ID.info, ID.tracks, ID.tags, ID.cues];

export interface MatroskaHeader {
  readonly track: MatroskaTrack;
  readonly tags: Tags;
  /** Milliseconds of one unit of the timestamps. */
  readonly unitMs: number;
  /** As declared, less the time at which the file starts; undefined when not declared. */
  readonly lengthMs: number | undefined;
  /** Time of the first cluster in a file that was cut out of a longer one, else 0. */
  readonly startMs: number;
  /** A recording in progress: neither size nor length were known when its head was written. */
  readonly isLive: boolean;
  /** Start of the segment's body: the origin of positions inside the file. */
  readonly segmentStart: number;
  readonly firstCluster: number;
  /** Cues, when they were in front; else see `cuesPosition`. */
  readonly cues: CueTable | undefined;
  readonly cuesPosition: number | undefined;
}

interface Parts {
  segmentStart: number;
  isSegmentSizeKnown: boolean;
  unitMs: number;
  durationUnits: number | undefined;
  startUnits: number;
  title: string | undefined;
  tracksBody: Uint8Array | undefined;
  readonly tags: MatroskaTags;
  cuesBody: Uint8Array | undefined;
  positions: Map<number, number>;
  /** End of the file, when known. */
  readonly endBytes: number;
  /** Bytes of bodies read so far. */
  readBytes: number;
  readonly work: DemuxWork;
}

/** Reads up to the first cluster, from the start of the file; throws NodeErrors. The cursor ends up anywhere. */
export async function readMatroskaHeader(cursor: ByteCursor, work: DemuxWork): Promise<MatroskaHeader> {
  const parts = await enterSegment(cursor, work);
  const firstCluster = await readHead(cursor, parts);
  await readDistant(cursor, parts);
  if (parts.tracksBody === undefined) throw damaged("its list of tracks is missing");
  const { unitMs, durationUnits, segmentStart } = parts;
  const clusterMs = parts.startUnits * unitMs;
  const startMs = clusterMs >= START_MS_MIN ? clusterMs : 0;
  const endMs = durationUnits === undefined ? undefined : durationUnits * unitMs;
  // Most muxers count from 0, whenever the file starts.
  const lengthMs = endMs === undefined ? undefined : Math.floor(endMs > startMs ? endMs - startMs : endMs);
  const track = await chooseTrack(parts.tracksBody, work);
  return {
    track,
    tags: parts.tags.merge(track.uid, parts.title),
    unitMs,
    lengthMs,
    startMs,
    isLive: !parts.isSegmentSizeKnown && lengthMs === undefined,
    segmentStart,
    firstCluster,
    cues: parts.cuesBody && (await readCues(parts.cuesBody, { unitMs, segmentStart, trackNumber: track.number }, work)),
    cuesPosition: parts.positions.get(ID.cues),
  };
}

async function enterSegment(cursor: ByteCursor, work: DemuxWork): Promise<Parts> {
  for (let count = 0; count < 16; count++) {
    const header = await peekElementHeader(cursor);
    if (header === undefined || (header.sizeBytes === UNKNOWN_SIZE && header.id !== ID.segment)) break;
    cursor.skip(header.headerBytes);
    if (header.id === ID.segment) {
      return {
        segmentStart: cursor.position,
        isSegmentSizeKnown: header.sizeBytes !== UNKNOWN_SIZE,
        unitMs: 1,
        durationUnits: undefined,
        startUnits: 0,
        title: undefined,
        tracksBody: undefined,
        tags: new MatroskaTags(),
        cuesBody: undefined,
        positions: new Map(),
        endBytes: cursor.endBytes ?? Number.MAX_SAFE_INTEGER,
        readBytes: 0,
        work,
      };
    }
    cursor.skip(header.sizeBytes);
  }
  throw damaged("it has no segment");
}

/** Reads the elements in front of the first cluster and returns where that starts. */
async function readHead(cursor: ByteCursor, parts: Parts): Promise<number> {
  for (let count = 0; count < ELEMENT_COUNT_MAX; count++) {
    if (parts.work.isSpent) await parts.work.yield();
    const header = await peekElementHeader(cursor);
    if (header === undefined) break;
    if (header.id === ID.cluster) {
      parts.startUnits = readClusterUnits(await cursor.peek(CLUSTER_SNIFF_BYTES)) ?? 0;
      return cursor.position;
    }
    if (header.sizeBytes === UNKNOWN_SIZE) break;
    await readPart(cursor, header, parts);
  }
  if (parts.tracksBody !== undefined)
    throw new NodeError("media-no-audio", "the Matroska file ends before its first audio");
  throw damaged("its head is cut off or broken");
}

/** Tracks and tags may be behind the audio; they are worth a jump when jumping is cheap. */
async function readDistant(cursor: ByteCursor, parts: Parts): Promise<void> {
  if (!cursor.source.isRandomAccess) return;
  const sought = [...(parts.tracksBody === undefined ? [ID.tracks] : []), ...(parts.tags.isComplete ? [] : [ID.tags])];
  for (const id of sought) {
    const position = parts.positions.get(id);
    if (position === undefined || position < cursor.position) continue;
    cursor.moveTo(position);
    const header = await peekElementHeader(cursor);
    if (header?.id === id) await readPart(cursor, header, parts);
  }
}

async function readPart(cursor: ByteCursor, header: ElementHeader, parts: Parts): Promise<void> {
  const end = cursor.position + header.headerBytes + header.sizeBytes;
  cursor.skip(header.headerBytes);
  const isHad =
    (header.id === ID.tracks && parts.tracksBody !== undefined) ||
    (header.id === ID.cues && parts.cuesBody !== undefined);
  if (READ_IDS.some((id) => id === header.id) && !isHad && parts.readBytes < READ_BYTES_MAX) {
    const sizeBytes = Math.min(header.sizeBytes, BODY_BYTES_MAX);
    const body = await readOwned(cursor, { sizeBytes, work: parts.work, purpose: "its head" });
    parts.readBytes += body.length;
    await readBody(header.id, body, parts);
  }
  cursor.moveTo(end);
}

async function readBody(id: number, body: Uint8Array, parts: Parts): Promise<void> {
  // These two are retained.
  if (id === ID.tracks) parts.tracksBody = body;
  else if (id === ID.cues) parts.cuesBody = body;
  else {
    if (id === ID.seekHead) await readSeekHead(body, parts);
    else if (id === ID.info) await readInfo(body, parts);
    else await parts.tags.read(body, parts.work);
    parts.work.release(body.length);
  }
}

async function readSeekHead(body: Uint8Array, parts: Parts): Promise<void> {
  for (const seek of readElements(body)) {
    if (parts.work.isSpent) await parts.work.yield();
    if (seek.id !== ID.seek) continue;
    let [target, position] = [0, -1];
    for (const field of readElements(seek.body, FIELD_COUNT_MAX)) {
      if (field.id === ID.seekId) target = readUnsigned(field.body);
      else if (field.id === ID.seekPosition) position = readUnsigned(field.body);
    }
    const positionBytes = parts.segmentStart + position;
    // Written as a number of up to 8 bytes: it may point anywhere.
    const isWithin = position >= 0 && positionBytes < parts.endBytes;
    if (isWithin && parts.positions.size < 64) parts.positions.set(target, positionBytes);
  }
}

async function readInfo(body: Uint8Array, parts: Parts): Promise<void> {
  for (const field of readElements(body)) {
    if (parts.work.isSpent) await parts.work.yield();
    if (field.id === ID.timestampScale) parts.unitMs = Math.min(readUnsigned(field.body) / 1e6, 1000) || 1;
    else if (field.id === ID.title) parts.title = decodeTag(field.body);
    else if (field.id === ID.duration) {
      const units = readFloat(field.body);
      if (units > 0 && units < 2 ** 53) parts.durationUnits = units;
    }
  }
}

/** Reads the cues from the body of the element, and releases its memory. */
export async function readCues(body: Uint8Array, scale: CueScale, work: DemuxWork): Promise<CueTable> {
  const table = new CueTable(work);
  await table.read(body, scale);
  work.release(body.length);
  return table;
}

function damaged(why: string): NodeError {
  return new NodeError("media-damaged", `the Matroska file cannot be read: ${why}`);
}
