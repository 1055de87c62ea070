// Finds the cluster for a seek in a Matroska file without cues: halves the file, looking for cluster headers by their
// identifier. Audio thread.

import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import { ID, parseElementHeader, readUnsigned } from "./ebml.ts";

/** Below this the rest is read through. */
const RANGE_BYTES_MIN = 64 * 1024;
/** Farthest search for a cluster from one middle; then that half counts as empty. */
const SEARCH_BYTES_MAX = 8 * 1024 * 1024;
const LOOK_BYTES = 64;

interface Cluster {
  readonly positionBytes: number;
  readonly units: number;
}

/** Start of the last cluster found whose timestamp is at or before `units`; undefined without a known size. */
export async function findClusterBefore(
  source: ByteSource,
  target: { startBytes: number; units: number },
): Promise<number | undefined> {
  if (source.sizeBytes === undefined) return undefined;
  let low = target.startBytes;
  let high = source.sizeBytes;
  for (let round = 0; round < 48 && high - low > RANGE_BYTES_MIN; round++) {
    const middle = Math.floor((low + high) / 2);
    const cluster = await findCluster(source, middle, high);
    if (cluster !== undefined && cluster.units <= target.units) low = cluster.positionBytes;
    else high = middle;
  }
  return low;
}

async function findCluster(source: ByteSource, start: number, end: number): Promise<Cluster | undefined> {
  const cursor = new ByteCursor(source, start);
  const limit = Math.min(end, start + SEARCH_BYTES_MAX);
  while (cursor.position < limit && (await cursor.need(LOOK_BYTES))) {
    const ahead = cursor.indexOf([0x1f, 0x43, 0xb6, 0x75]);
    if (ahead < 0) {
      cursor.skip(Math.max(1, cursor.bufferedBytes - 3));
      continue;
    }
    cursor.skip(ahead);
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
