// Finds the cluster for a seek in a Matroska file without cues: searches for cluster headers, by their identifier,
// where the target should be by its share of the length, and every second time in the middle, so that the search ends
// whatever the file claims. Each step is a separate request when the file is remote. Audio thread.

import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import { ID, parseElementHeader, readUnsigned } from "./ebml.ts";

/** Below this the rest is read through. */
const RANGE_BYTES_MIN = 64 * 1024;
/** Farthest search for a cluster from one middle; then that half counts as empty. */
const PROBE_BYTES_MAX = 8 * 1024 * 1024;
/** Bytes scanned in all such searches of one seek; then playback continues from the best position so far. */
const SEARCH_BYTES_MAX = 64 * 1024 * 1024;
/** The start of a cluster that holds its timestamp. */
export const CLUSTER_SNIFF_BYTES = 64;
/** How a cluster begins: `ID.cluster` of ebml.ts. */
export const CLUSTER_ID_BYTES = [0x1f, 0x43, 0xb6, 0x75];

interface Cluster {
  readonly positionBytes: number;
  readonly units: number;
}

interface ClusterTarget {
  /** Where clusters begin, and the timestamp there. */
  readonly startBytes: number;
  readonly startUnits: number;
  /** The timestamp that is searched for. */
  readonly units: number;
  /** From a cluster at most this far before the target, the reader reads on. */
  readonly nearUnits: number;
  /** The timestamp at the end of the file, when known. */
  readonly endUnits: number | undefined;
}

/** Start of the last cluster found whose timestamp is at or before `units`; undefined without a known size. */
export async function findClusterBefore(
  { source, work }: ReaderParts,
  { startBytes, startUnits, units, nearUnits, endUnits }: ClusterTarget,
): Promise<number | undefined> {
  if (source.sizeBytes === undefined) return undefined;
  let low: Cluster = { positionBytes: startBytes, units: startUnits };
  let high: Cluster = { positionBytes: source.sizeBytes, units: endUnits ?? 0 };
  let searchedBytes = 0;
  for (let attempts = 0; searchedBytes < SEARCH_BYTES_MAX; attempts++) {
    const rangeBytes = high.positionBytes - low.positionBytes;
    if (rangeBytes <= RANGE_BYTES_MIN || units - low.units <= nearUnits) break;
    const share = attempts % 2 === 0 ? shareOf(units - nearUnits / 2, low.units, high.units) : 0.5;
    const fromBytes = low.positionBytes + Math.floor(rangeBytes * share);
    const cursor = new ByteCursor(source, fromBytes);
    const cluster = await findCluster(cursor, Math.min(high.positionBytes, fromBytes + PROBE_BYTES_MAX), work);
    searchedBytes += cursor.fetchedBytes;
    if (cluster !== undefined && cluster.units <= units) low = cluster;
    else high = { positionBytes: fromBytes, units: cluster?.units ?? high.units };
  }
  return low.positionBytes;
}

/** Where a time lies between two others, 0 to 1; the middle when they are invalid. */
function shareOf(units: number, lowUnits: number, highUnits: number): number {
  const share = (units - lowUnits) / (highUnits - lowUnits);
  return share >= 0 && share < 1 ? share : 0.5;
}

async function findCluster(cursor: ByteCursor, limit: number, work: DemuxWork): Promise<Cluster | undefined> {
  while (cursor.position < limit && (await cursor.need(CLUSTER_SNIFF_BYTES))) {
    if (work.isSpent) await work.yield();
    if (!cursor.scanFor(CLUSTER_ID_BYTES).isFound) continue;
    if (cursor.position >= limit) return undefined;
    const units = readClusterUnits(await cursor.peek(CLUSTER_SNIFF_BYTES));
    if (units !== undefined) return { positionBytes: cursor.position, units };
    cursor.skip(1);
  }
  return undefined;
}

/** The timestamp of a cluster, which is among its first elements. */
export function readClusterUnits(bytes: Uint8Array): number | undefined {
  const cluster = parseElementHeader(bytes);
  if (cluster === undefined) return undefined;
  let at = cluster.headerBytes;
  for (let count = 0; count < 4; count++) {
    const child = parseElementHeader(bytes, at);
    if (child === undefined || child.sizeBytes > CLUSTER_SNIFF_BYTES) return undefined;
    const body = bytes.subarray(at + child.headerBytes, at + child.headerBytes + child.sizeBytes);
    if (child.id === ID.timestamp) return child.sizeBytes <= 8 ? readUnsigned(body) : undefined;
    at += child.headerBytes + child.sizeBytes;
  }
  return undefined;
}
