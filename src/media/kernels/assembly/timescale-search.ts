// The inner loop of the search for similar positions: how much a stretch of stereo audio has in common with others, at
// each of many positions. Four samples at a time, at four positions at a time. AssemblyScript; the plain loop is in
// ../timescale-search-kernel.ts, the memory in ../numbers/timescale-search.ts. Audio thread.

import { F32_BYTES, VECTOR_BYTES } from "../numbers/block.ts";
import { HERE_LEFT, HERE_RIGHT, PRODUCTS, THERE_LEFT, THERE_RIGHT } from "../numbers/timescale-search.ts";
import { sumsOfHalves, sumsOfPairs } from "./lanes.ts";

/**
 * products[p] is the sum of here[n] * there[n + p] over both channels and n up to `length`, a multiple of 4; p goes up
 * to `count` (1 at least), rounded up to a multiple of 4.
 */
export function compare(length: u32, count: u32): void {
  const end: usize = F32_BYTES * length;
  const positionsEnd: usize = F32_BYTES * count;
  let offset: usize = 0;
  do {
    let a = f32x4.splat(0);
    let b = f32x4.splat(0);
    let c = f32x4.splat(0);
    let d = f32x4.splat(0);
    let n: usize = 0;
    let there = offset;
    do {
      const left = v128.load(n, HERE_LEFT);
      a = f32x4.add(a, f32x4.mul(left, v128.load(there, THERE_LEFT)));
      b = f32x4.add(b, f32x4.mul(left, v128.load(there, THERE_LEFT + F32_BYTES)));
      c = f32x4.add(c, f32x4.mul(left, v128.load(there, THERE_LEFT + 2 * F32_BYTES)));
      d = f32x4.add(d, f32x4.mul(left, v128.load(there, THERE_LEFT + 3 * F32_BYTES)));
      const right = v128.load(n, HERE_RIGHT);
      a = f32x4.add(a, f32x4.mul(right, v128.load(there, THERE_RIGHT)));
      b = f32x4.add(b, f32x4.mul(right, v128.load(there, THERE_RIGHT + F32_BYTES)));
      c = f32x4.add(c, f32x4.mul(right, v128.load(there, THERE_RIGHT + 2 * F32_BYTES)));
      d = f32x4.add(d, f32x4.mul(right, v128.load(there, THERE_RIGHT + 3 * F32_BYTES)));
      there += VECTOR_BYTES;
      n += VECTOR_BYTES;
    } while (n < end);
    v128.store(offset, sumsOfHalves(sumsOfPairs(a, b), sumsOfPairs(c, d)), PRODUCTS);
    offset += VECTOR_BYTES;
  } while (offset < positionsEnd);
}
