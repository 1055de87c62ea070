// Splits a Matroska block: track, time, and one or several packets (RFC 9559 sections 10.2 and 10.3). Audio thread.
//
//   track number (vint) | time, 16 bits signed | flags: xxxxxLLx, L lacing | lace count and sizes | packets

import { type Laces, readXiphLaces } from "../../format/xiph-lacing.ts";
import { parseVint } from "./ebml.ts";

interface BlockParts {
  readonly trackNumber: number;
  /** Time against the cluster's, in timestamp units. */
  readonly relativeUnits: number;
  /** Packets without content are left out. */
  readonly frames: readonly Uint8Array[];
}

/** Undefined for a block that is malformed. */
export function splitBlock(block: Uint8Array): BlockParts | undefined {
  const track = parseVint(block, 0);
  if (track === undefined || track.lengthBytes + 3 > block.length) return undefined;
  const at = track.lengthBytes;
  const relativeUnits = ((block[at]! << 24) | (block[at + 1]! << 16)) >> 16;
  const lacing = (block[at + 2]! >> 1) & 3;
  const body = block.subarray(at + 3);
  const frames = lacing === 0 ? [body] : splitLaces(body, lacing);
  return frames && { trackNumber: track.value, relativeUnits, frames };
}

function splitLaces(body: Uint8Array, lacing: number): Uint8Array[] | undefined {
  const first = body[0];
  if (first === undefined) return undefined;
  // A lace count and nothing else: that many empty packets.
  if (body.length === 1) return [];
  const count = first + 1;
  const laces = lacing === 1 ? readXiphLaces(body) : lacing === 3 ? ebmlSizes(body, count) : fixedSizes(body, count);
  if (laces === undefined) return undefined;
  const frames: Uint8Array[] = [];
  let at = laces.start;
  for (const size of laces.sizes) {
    if (size < 0 || at + size > body.length) return undefined;
    if (size > 0) frames.push(body.subarray(at, at + size));
    at += size;
  }
  if (at < body.length) frames.push(body.subarray(at));
  return frames;
}

function fixedSizes(body: Uint8Array, count: number): Laces | undefined {
  const size = (body.length - 1) / count;
  return Number.isInteger(size) ? { sizes: new Array<number>(count - 1).fill(size), start: 1 } : undefined;
}

/** The first size is absolute, each further one the signed difference to the one before. */
function ebmlSizes(body: Uint8Array, count: number): Laces | undefined {
  const sizes: number[] = [];
  let at = 1;
  while (sizes.length < count - 1) {
    const vint = parseVint(body, at);
    if (vint === undefined || !Number.isFinite(vint.value)) return undefined;
    const previous = sizes.at(-1);
    const bias = 2 ** (7 * vint.lengthBytes - 1) - 1;
    sizes.push(previous === undefined ? vint.value : previous + vint.value - bias);
    at += vint.lengthBytes;
  }
  return { sizes, start: at };
}
