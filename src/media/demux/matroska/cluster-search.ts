// Finds the cluster for a seek in a Matroska file without cues: halves the file, looking for cluster headers by their
// identifier. Audio thread.

import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import { ID, parseElementHeader, readUnsigned } from "./ebml.ts";

/** Below this the rest is read through. */
const RANGE_BYTES_MIN = 64 * 1024;
/** Farthest search for a cluster from one middle; then that half counts as empty. */
const PROBE_BYTES_MAX = 8 * 1024 * 1024;
/** All such searches of one seek together; then it plays on from the best place so far. */
const SEARCH_BYTES_MAX = 64 * 1024 * 1024;
const LOOK_BYTES = 64;
const CLUSTER_ID_BYTES = [0x1f, 0x43, 0xb6, 0x75];

interface Cluster {
  readonly positionBytes: number;
  readonly units: number;
}

/** Start of the last cluster found whose timestamp is at or before `units`; undefined without a known size. */
export async function findClusterBefore(
  { source, work }: ReaderParts,
  target: { startBytes: number; units: number },
): Promise<number | undefined> {
  if (source.sizeBytes === undefined) return undefined;
  let low = target.startBytes;
  let high = source.sizeBytes;
  for (let searchedBytes = 0; high - low > RANGE_BYTES_MIN && searchedBytes < SEARCH_BYTES_MAX; ) {
    const middle = Math.floor((low + high) / 2);
    const cursor = new ByteCursor(source, middle);
    const cluster = await findCluster(cursor, Math.min(high, middle + PROBE_BYTES_MAX), work);
    searchedBytes += cursor.fetchedBytes;
    if (cluster !== undefined && cluster.units <= target.units) low = cluster.positionBytes;
    else high = middle;
  }
  return low;
}

async function findCluster(cursor: ByteCursor, limit: number, work: DemuxWork): Promise<Cluster | undefined> {
  while (cursor.position < limit && (await cursor.need(LOOK_BYTES))) {
    if (work.isSpent) await work.turn();
    if (!cursor.scanFor(CLUSTER_ID_BYTES).isFound) continue;
    if (cursor.position >= limit) return undefined;
    const units = readClusterUnits(await cursor.peek(LOOK_BYTES));
    if (units !== undefined) return { positionBytes: cursor.position, units };
    cursor.skip(1);
  }
  return undefined;
}

/** The timestamp of a cluster, which stands among its first elements. */
function readClusterUnits(bytes: Uint8Array): number | undefined {
  const cluster = parseElementHeader(bytes);
  if (cluster === undefined) return undefined;
  let at = cluster.headerBytes;
  for (let count = 0; count < 4; count++) {
    const child = parseElementHeader(bytes, at);
    if (child === undefined || child.sizeBytes > LOOK_BYTES) return undefined;
    const body = bytes.subarray(at + child.headerBytes, at + child.headerBytes + child.sizeBytes);
    if (child.id === ID.timestamp) return child.sizeBytes <= 8 ? readUnsigned(body) : undefined;
    at += child.headerBytes + child.sizeBytes;
  }
  return undefined;
}
