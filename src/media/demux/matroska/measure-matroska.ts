// The length of a Matroska file by the last block of the track: where the head does not say it (recorded by browsers,
// written to a pipe), and as a second witness where it does. Audio and probe threads.

import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import { createPacketClock, type PacketClock } from "../packet-clock.ts";
import { splitBlock } from "./block.ts";
import { CLUSTER_ID_BYTES } from "./cluster-search.ts";
import { type ElementHeader, ID, peekElementHeader, readElements, readSigned, readUnsigned } from "./ebml.ts";
import type { MatroskaHeader } from "./matroska-header.ts";

/** Read from the end at first, and at most: five seconds of video in 25 Mbit/s. */
const TAIL_BYTES_MIN = 256 * 1024;
const TAIL_BYTES_MAX = 16 * 1024 * 1024;
/** Largest element inside a cluster whose body is read. */
const BLOCK_BYTES_MAX = 1024 * 1024;
/** Fields of a block group; real ones have a handful. */
const GROUP_FIELDS_MAX = 64;
/** Longest time between the last two blocks: a block behind a longer gap is damage. */
const GAP_MS_MAX = 600_000;

interface Walk {
  readonly cursor: ByteCursor;
  readonly header: MatroskaHeader;
  readonly clock: PacketClock;
  clusterUnits: number;
  endMs: number | undefined;
}

/** How far the declared length may be from the measured one before that counts. */
const DIFFERENCE_SHARE_MAX = 0.02;
const DIFFERENCE_MS_MAX = 1000;
/** Less than this is no audio: a byte a second, against a block that claims hours. */
const BYTES_PER_SECOND_MIN = 100;

/**
 * Milliseconds from the start to the end of the last block of the track; undefined when that is out of reach, or about
 * what the file declares.
 */
export async function measureMatroska(parts: ReaderParts, header: MatroskaHeader): Promise<number | undefined> {
  const { source } = parts;
  const { sizeBytes } = source;
  const { lengthMs: declaredMs, firstCluster, track, startMs } = header;
  if (!source.isRandomAccess || sizeBytes === undefined) return undefined;
  const tailBytesMax = declaredMs === undefined ? TAIL_BYTES_MAX : TAIL_BYTES_MIN;
  for (let tailBytes = TAIL_BYTES_MIN; tailBytes <= tailBytesMax; tailBytes *= 4) {
    const start = Math.max(firstCluster, sizeBytes - tailBytes);
    const endMs = await findEnd(parts, header, start);
    if (endMs !== undefined) {
      const measuredMs = Math.floor(Math.max(0, endMs - track.codecDelayMs - startMs));
      return isUsable(measuredMs, declaredMs, sizeBytes) ? measuredMs : undefined;
    }
    if (start === firstCluster) return undefined;
  }
  return undefined;
}

function isUsable(measuredMs: number, declaredMs: number | undefined, sizeBytes: number): boolean {
  if (declaredMs === undefined) return true;
  const differenceMs = Math.abs(measuredMs - declaredMs);
  if (differenceMs <= Math.max(DIFFERENCE_MS_MAX, DIFFERENCE_SHARE_MAX * declaredMs)) return false;
  return sizeBytes >= (measuredMs / 1000) * BYTES_PER_SECOND_MIN;
}

async function findEnd(
  { source, work }: ReaderParts,
  header: MatroskaHeader,
  start: number,
): Promise<number | undefined> {
  const cursor = new ByteCursor(source, start);
  const clock = createPacketClock(header.track.stream, header.track.frameSamples);
  const walk: Walk = { cursor, header, clock, clusterUnits: 0, endMs: undefined };
  while (await cursor.need(CLUSTER_ID_BYTES.length)) {
    if (work.isSpent) await work.yield();
    if (!cursor.scanFor(CLUSTER_ID_BYTES).isFound) continue;
    const cluster = await peekElementHeader(cursor);
    cursor.skip(cluster?.headerBytes ?? 1);
    if (cluster === undefined) continue;
    for (let isInside = true; isInside; ) {
      if (work.isSpent) await work.yield();
      isInside = await readElement(walk);
    }
  }
  return walk.endMs;
}

/** Reads one element of a cluster; false, without moving, at what can be none. */
async function readElement(walk: Walk): Promise<boolean> {
  const { cursor } = walk;
  const element = await peekElementHeader(cursor);
  if (element === undefined || element.id === ID.cluster) return false;
  const { id, headerBytes, sizeBytes } = element;
  const end = cursor.position + headerBytes + sizeBytes;
  if (end > (cursor.endBytes ?? 0)) return false;
  if (id === ID.timestamp && sizeBytes <= 8) {
    cursor.skip(headerBytes);
    walk.clusterUnits = readUnsigned(await cursor.read(sizeBytes));
  } else if ((id === ID.simpleBlock || id === ID.blockGroup) && sizeBytes <= BLOCK_BYTES_MAX) {
    await readBlock(walk, element);
  }
  cursor.moveTo(end);
  return true;
}

async function readBlock(walk: Walk, { id, headerBytes, sizeBytes }: ElementHeader): Promise<void> {
  const { cursor, header, clock } = walk;
  cursor.skip(headerBytes);
  const body = await cursor.read(sizeBytes);
  let block: Uint8Array | undefined = id === ID.simpleBlock ? body : undefined;
  let discardMs = 0;
  if (block === undefined) {
    for (const field of readElements(body, GROUP_FIELDS_MAX)) {
      if (field.id === ID.block) block = field.body;
      else if (field.id === ID.discardPadding) discardMs = Math.max(0, readSigned(field.body) / 1e6);
    }
  }
  const parts = block && splitBlock(block);
  if (parts === undefined || parts.trackNumber !== header.track.number) return;
  const samples = parts.frames.reduce((sum, frame) => sum + clock.count(frame), 0);
  const startMs = (walk.clusterUnits + parts.relativeUnits) * header.unitMs;
  if (walk.endMs !== undefined && startMs - walk.endMs > GAP_MS_MAX) return;
  walk.endMs = startMs + (1000 * samples) / header.track.stream.sampleRateHz - discardMs;
}
