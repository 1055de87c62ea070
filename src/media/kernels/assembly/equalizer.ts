// The inner loops of the equalizer: band-passes in parallel, in 64-bit floats, left and right in the two lanes of a
// vector. AssemblyScript; the plain loop is in ../equalizer-kernel.ts, the memory in ../numbers/equalizer.ts. Audio
// thread.
//
// A band:  w = d + g * w1 - b * w2;  sum += k * w.  Three bands share a loop: while one waits for its multiplication,
// the others work.

import { F32_BYTES, VECTOR_BYTES } from "../numbers/block.ts";
import {
  BAND_B,
  BAND_BYTES,
  BAND_K,
  BAND_W1,
  BAND_W2,
  EQUALIZER_DIFFERENCES,
  EQUALIZER_LEFT,
  EQUALIZER_RIGHT,
  EQUALIZER_SUMS,
  GROUP_BANDS,
  HISTORY_X1,
  HISTORY_X2,
} from "../numbers/equalizer.ts";
import { lowPairs } from "./lanes.ts";

const SECOND = BAND_BYTES;
const THIRD = 2 * BAND_BYTES;

/** Changes the first `count` samples in place by the first `groups` groups of bands. */
export function equalize(count: u32, groups: u32): void {
  if (count === 0) return;
  spread(count);
  const groupsEnd: usize = GROUP_BANDS * BAND_BYTES * groups;
  for (let group: usize = 0; group < groupsEnd; group += GROUP_BANDS * BAND_BYTES) addGroup(group, count);
  gather(count);
}

/** sum = x, d = x - x2. */
function spread(count: u32): void {
  let x1 = v128.load(HISTORY_X1);
  let x2 = v128.load(HISTORY_X2);
  const end: usize = F32_BYTES * count;
  let at: usize = 0;
  do {
    const x = f64x2.promote_low_f32x4(
      lowPairs(v128.load32_zero(at, EQUALIZER_LEFT), v128.load32_zero(at, EQUALIZER_RIGHT)),
    );
    const to = (VECTOR_BYTES / F32_BYTES) * at;
    v128.store(to, x, EQUALIZER_SUMS);
    v128.store(to, f64x2.sub(x, x2), EQUALIZER_DIFFERENCES);
    x2 = x1;
    x1 = x;
    at += F32_BYTES;
  } while (at < end);
  v128.store(HISTORY_X1, x1);
  v128.store(HISTORY_X2, x2);
}

/** Adds three bands to the sums of all samples. */
function addGroup(group: usize, count: u32): void {
  const gA = v128.load(group);
  const bA = v128.load(group, BAND_B);
  const kA = v128.load(group, BAND_K);
  let w1A = v128.load(group, BAND_W1);
  let w2A = v128.load(group, BAND_W2);
  const gB = v128.load(group, SECOND);
  const bB = v128.load(group, SECOND + BAND_B);
  const kB = v128.load(group, SECOND + BAND_K);
  let w1B = v128.load(group, SECOND + BAND_W1);
  let w2B = v128.load(group, SECOND + BAND_W2);
  const gC = v128.load(group, THIRD);
  const bC = v128.load(group, THIRD + BAND_B);
  const kC = v128.load(group, THIRD + BAND_K);
  let w1C = v128.load(group, THIRD + BAND_W1);
  let w2C = v128.load(group, THIRD + BAND_W2);
  const end: usize = VECTOR_BYTES * count;
  let at: usize = 0;
  do {
    const d = v128.load(at, EQUALIZER_DIFFERENCES);
    const wA = f64x2.add(f64x2.sub(d, f64x2.mul(bA, w2A)), f64x2.mul(gA, w1A));
    w2A = w1A;
    w1A = wA;
    const wB = f64x2.add(f64x2.sub(d, f64x2.mul(bB, w2B)), f64x2.mul(gB, w1B));
    w2B = w1B;
    w1B = wB;
    const wC = f64x2.add(f64x2.sub(d, f64x2.mul(bC, w2C)), f64x2.mul(gC, w1C));
    w2C = w1C;
    w1C = wC;
    const bands = f64x2.add(f64x2.add(f64x2.mul(kA, wA), f64x2.mul(kB, wB)), f64x2.mul(kC, wC));
    v128.store(at, f64x2.add(v128.load(at, EQUALIZER_SUMS), bands), EQUALIZER_SUMS);
    at += VECTOR_BYTES;
  } while (at < end);
  v128.store(group, w1A, BAND_W1);
  v128.store(group, w2A, BAND_W2);
  v128.store(group, w1B, SECOND + BAND_W1);
  v128.store(group, w2B, SECOND + BAND_W2);
  v128.store(group, w1C, THIRD + BAND_W1);
  v128.store(group, w2C, THIRD + BAND_W2);
}

/** Clips the sums to full scale and converts them back to 32 bits. */
function gather(count: u32): void {
  const end: usize = F32_BYTES * count;
  let at: usize = 0;
  do {
    const sum = v128.load((VECTOR_BYTES / F32_BYTES) * at, EQUALIZER_SUMS);
    const cut = f64x2.pmax(f64x2.splat(-1), f64x2.pmin(f64x2.splat(1), sum));
    const x = f32x4.demote_f64x2_zero(cut);
    store<f32>(at, f32x4.extract_lane(x, 0), EQUALIZER_LEFT);
    store<f32>(at, f32x4.extract_lane(x, 1), EQUALIZER_RIGHT);
    at += F32_BYTES;
  } while (at < end);
}
