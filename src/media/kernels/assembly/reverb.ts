// The inner loop of the reverb: four diffusers, eight delay lines, their low-passes and the matrix between them, four
// samples at a time. The four lanes are samples, except in the low-passes: there each sample waits for the one before,
// so the lanes are lines, and vectors are transposed on the way in and out. AssemblyScript; the plain loop is in
// ../reverb-kernel.ts, the memory in ../numbers/reverb.ts. Audio thread.

import { F32_BYTES, GROUP_SAMPLES, SILENCE_BIAS, VECTOR_BYTES } from "../numbers/block.ts";
import {
  DIFFUSER_0_SAMPLES,
  DIFFUSER_1_SAMPLES,
  DIFFUSER_2_SAMPLES,
  DIFFUSER_3_SAMPLES,
  DIFFUSER_SIZE,
  DIFFUSER_STRIDE_BYTES,
  DIFFUSERS,
  DIFFUSION,
  LINE_0_SAMPLES,
  LINE_1_SAMPLES,
  LINE_2_SAMPLES,
  LINE_3_SAMPLES,
  LINE_4_SAMPLES,
  LINE_5_SAMPLES,
  LINE_6_SAMPLES,
  LINE_7_SAMPLES,
  LINE_STRIDE_BYTES,
  REVERB_LEFT,
  REVERB_LINE_SIZE,
  REVERB_LOW_PASSED,
  REVERB_RIGHT,
  REVERB_SHARES,
} from "../numbers/reverb.ts";
import { highHalves, highPairs, lowHalves, lowPairs } from "./lanes.ts";

const LINE_MASK = REVERB_LINE_SIZE - 1;
const DIFFUSER_MASK = DIFFUSER_SIZE - 1;
const LINE_0 = 0;
const LINE_1 = LINE_STRIDE_BYTES;
const LINE_2 = 2 * LINE_STRIDE_BYTES;
const LINE_3 = 3 * LINE_STRIDE_BYTES;
const LINE_4 = 4 * LINE_STRIDE_BYTES;
const LINE_5 = 5 * LINE_STRIDE_BYTES;
const LINE_6 = 6 * LINE_STRIDE_BYTES;
const LINE_7 = 7 * LINE_STRIDE_BYTES;
/** From the start of a ring to the copy of its first samples. */
const LINE_END = F32_BYTES * REVERB_LINE_SIZE;
const DIFFUSER_0 = DIFFUSERS;
const DIFFUSER_1 = DIFFUSERS + DIFFUSER_STRIDE_BYTES;
const DIFFUSER_2 = DIFFUSERS + 2 * DIFFUSER_STRIDE_BYTES;
const DIFFUSER_3 = DIFFUSERS + 3 * DIFFUSER_STRIDE_BYTES;
const DIFFUSER_END = F32_BYTES * DIFFUSER_SIZE;

/**
 * Processes samples from number `start` to `end`, a multiple of four of them, in place; `at` is the lines' next sample,
 * a multiple of four. `keep` is the share that a low-pass retains of its last sample, the others are output gains.
 */
export function reverberate(start: u32, end: u32, at: u32, keep: f32, dry: f32, wet: f32, cross: f32): void {
  const k = f32x4.splat(keep);
  const lowShare = v128.load(REVERB_SHARES);
  const highShare = v128.load(REVERB_SHARES + VECTOR_BYTES);
  let low = v128.load(REVERB_LOW_PASSED);
  let high = v128.load(REVERB_LOW_PASSED + VECTOR_BYTES);
  const to: usize = F32_BYTES * end;
  let n: usize = F32_BYTES * start;
  if (n >= to) return;
  do {
    const left = v128.load(n, REVERB_LEFT);
    const right = v128.load(n, REVERB_RIGHT);
    // Diffusers, two per side: stored = in - 0.6 past, out = past + 0.6 stored.
    const past0 = v128.load(diffuserBytes(at - DIFFUSER_0_SAMPLES), DIFFUSER_0, F32_BYTES);
    const kept0 = f32x4.sub(f32x4.add(left, f32x4.splat(f32(SILENCE_BIAS))), diffused(past0));
    const past1 = v128.load(diffuserBytes(at - DIFFUSER_1_SAMPLES), DIFFUSER_1, F32_BYTES);
    const kept1 = f32x4.sub(f32x4.add(past0, diffused(kept0)), diffused(past1));
    const fromLeft = f32x4.add(past1, diffused(kept1));
    const past2 = v128.load(diffuserBytes(at - DIFFUSER_2_SAMPLES), DIFFUSER_2, F32_BYTES);
    const kept2 = f32x4.sub(f32x4.add(right, f32x4.splat(f32(SILENCE_BIAS))), diffused(past2));
    const past3 = v128.load(diffuserBytes(at - DIFFUSER_3_SAMPLES), DIFFUSER_3, F32_BYTES);
    const kept3 = f32x4.sub(f32x4.add(past2, diffused(kept2)), diffused(past3));
    const fromRight = f32x4.add(past3, diffused(kept3));
    keepDiffused(diffuserBytes(at), kept0, kept1, kept2, kept3);
    // Lines 0 to 3: transposed, low-passed sample by sample, transposed back.
    const past4 = v128.load(lineBytes(at - LINE_0_SAMPLES), LINE_0, F32_BYTES);
    const past5 = v128.load(lineBytes(at - LINE_1_SAMPLES), LINE_1, F32_BYTES);
    const past6 = v128.load(lineBytes(at - LINE_2_SAMPLES), LINE_2, F32_BYTES);
    const past7 = v128.load(lineBytes(at - LINE_3_SAMPLES), LINE_3, F32_BYTES);
    const lowA = lowPairs(past4, past5);
    const lowB = lowPairs(past6, past7);
    const lowC = highPairs(past4, past5);
    const lowD = highPairs(past6, past7);
    const low0 = lowPassed(lowHalves(lowA, lowB), lowShare, low, k);
    const low1 = lowPassed(highHalves(lowA, lowB), lowShare, low0, k);
    const low2 = lowPassed(lowHalves(lowC, lowD), lowShare, low1, k);
    low = lowPassed(highHalves(lowC, lowD), lowShare, low2, k);
    const lowE = lowPairs(low0, low1);
    const lowF = lowPairs(low2, low);
    const lowG = highPairs(low0, low1);
    const lowH = highPairs(low2, low);
    const x0 = lowHalves(lowE, lowF);
    const x1 = highHalves(lowE, lowF);
    const x2 = lowHalves(lowG, lowH);
    const x3 = highHalves(lowG, lowH);
    // Lines 4 to 7 in the same way.
    const past8 = v128.load(lineBytes(at - LINE_4_SAMPLES), LINE_4, F32_BYTES);
    const past9 = v128.load(lineBytes(at - LINE_5_SAMPLES), LINE_5, F32_BYTES);
    const past10 = v128.load(lineBytes(at - LINE_6_SAMPLES), LINE_6, F32_BYTES);
    const past11 = v128.load(lineBytes(at - LINE_7_SAMPLES), LINE_7, F32_BYTES);
    const highA = lowPairs(past8, past9);
    const highB = lowPairs(past10, past11);
    const highC = highPairs(past8, past9);
    const highD = highPairs(past10, past11);
    const high0 = lowPassed(lowHalves(highA, highB), highShare, high, k);
    const high1 = lowPassed(highHalves(highA, highB), highShare, high0, k);
    const high2 = lowPassed(lowHalves(highC, highD), highShare, high1, k);
    high = lowPassed(highHalves(highC, highD), highShare, high2, k);
    const highE = lowPairs(high0, high1);
    const highF = lowPairs(high2, high);
    const highG = highPairs(high0, high1);
    const highH = highPairs(high2, high);
    const x4 = lowHalves(highE, highF);
    const x5 = highHalves(highE, highF);
    const x6 = lowHalves(highG, highH);
    const x7 = highHalves(highG, highH);
    // The output.
    const roomLeft = f32x4.sub(f32x4.add(x0, x4), f32x4.add(x2, x6));
    const roomRight = f32x4.sub(f32x4.add(x1, x5), f32x4.add(x3, x7));
    v128.store(n, mixed(left, roomLeft, roomRight, dry, wet, cross), REVERB_LEFT);
    v128.store(n, mixed(right, roomRight, roomLeft, dry, wet, cross), REVERB_RIGHT);
    // The matrix: sums and differences of neighbours, of pairs, of halves; then the input.
    const y0 = f32x4.add(x0, x1);
    const y1 = f32x4.sub(x0, x1);
    const y2 = f32x4.add(x2, x3);
    const y3 = f32x4.sub(x2, x3);
    const y4 = f32x4.add(x4, x5);
    const y5 = f32x4.sub(x4, x5);
    const y6 = f32x4.add(x6, x7);
    const y7 = f32x4.sub(x6, x7);
    const z0 = f32x4.add(y0, y2);
    const z1 = f32x4.add(y1, y3);
    const z2 = f32x4.sub(y0, y2);
    const z3 = f32x4.sub(y1, y3);
    const z4 = f32x4.add(y4, y6);
    const z5 = f32x4.add(y5, y7);
    const z6 = f32x4.sub(y4, y6);
    const z7 = f32x4.sub(y5, y7);
    keepInLines(
      F32_BYTES * at,
      f32x4.add(f32x4.add(z0, z4), fromLeft),
      f32x4.add(f32x4.add(z1, z5), fromRight),
      f32x4.sub(f32x4.add(z2, z6), fromLeft),
      f32x4.sub(f32x4.add(z3, z7), fromRight),
      f32x4.add(f32x4.sub(z0, z4), fromLeft),
      f32x4.add(f32x4.sub(z1, z5), fromRight),
      f32x4.sub(f32x4.sub(z2, z6), fromLeft),
      f32x4.sub(f32x4.sub(z3, z7), fromRight),
    );
    at = (at + GROUP_SAMPLES) & LINE_MASK;
    n += VECTOR_BYTES;
  } while (n < to);
  v128.store(REVERB_LOW_PASSED, low);
  v128.store(REVERB_LOW_PASSED + VECTOR_BYTES, high);
}

/** Converts a sample's number to its byte offset in a ring. */
function lineBytes(sample: u32): usize {
  return F32_BYTES * (sample & LINE_MASK);
}

function diffuserBytes(sample: u32): usize {
  return F32_BYTES * (sample & DIFFUSER_MASK);
}

function diffused(x: v128): v128 {
  return f32x4.mul(f32x4.splat(f32(DIFFUSION)), x);
}

function lowPassed(x: v128, share: v128, last: v128, keep: v128): v128 {
  return f32x4.add(f32x4.mul(x, share), f32x4.mul(last, keep));
}

function mixed(x: v128, own: v128, other: v128, dry: f32, wet: f32, cross: f32): v128 {
  const room = f32x4.add(f32x4.mul(own, f32x4.splat(wet)), f32x4.mul(other, f32x4.splat(cross)));
  return f32x4.add(f32x4.mul(x, f32x4.splat(dry)), room);
}

function keepDiffused(address: usize, kept0: v128, kept1: v128, kept2: v128, kept3: v128): void {
  v128.store(address, kept0, DIFFUSER_0);
  v128.store(address, kept1, DIFFUSER_1);
  v128.store(address, kept2, DIFFUSER_2);
  v128.store(address, kept3, DIFFUSER_3);
  if (address !== 0) return;
  v128.store(DIFFUSER_END, kept0, DIFFUSER_0);
  v128.store(DIFFUSER_END, kept1, DIFFUSER_1);
  v128.store(DIFFUSER_END, kept2, DIFFUSER_2);
  v128.store(DIFFUSER_END, kept3, DIFFUSER_3);
}

function keepInLines(
  address: usize,
  x0: v128,
  x1: v128,
  x2: v128,
  x3: v128,
  x4: v128,
  x5: v128,
  x6: v128,
  x7: v128,
): void {
  v128.store(address, x0, LINE_0);
  v128.store(address, x1, LINE_1);
  v128.store(address, x2, LINE_2);
  v128.store(address, x3, LINE_3);
  v128.store(address, x4, LINE_4);
  v128.store(address, x5, LINE_5);
  v128.store(address, x6, LINE_6);
  v128.store(address, x7, LINE_7);
  if (address !== 0) return;
  v128.store(LINE_END, x0, LINE_0);
  v128.store(LINE_END, x1, LINE_1);
  v128.store(LINE_END, x2, LINE_2);
  v128.store(LINE_END, x3, LINE_3);
  v128.store(LINE_END, x4, LINE_4);
  v128.store(LINE_END, x5, LINE_5);
  v128.store(LINE_END, x6, LINE_6);
  v128.store(LINE_END, x7, LINE_7);
}
