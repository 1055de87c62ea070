// The inner loops of the resampler: dot products of stereo audio with rows of filter taps, four samples at a time; and
// computing such rows, which takes ten times as long in JavaScript that has not been compiled yet. AssemblyScript; the
// plain loops are in ../resampler-kernel.ts. Audio thread.
//
// All positions are byte addresses in the memory the host passes in. A row has a multiple of TAPS_STEP taps, or of
// INTERPOLATED_TAPS_STEP where rows are interpolated. The tap loop is written out in both functions: as a separate
// function it made the whole 40 % slower.

import { F32_BYTES, F64_BYTES, VECTOR_BYTES } from "../numbers/block.ts";
import { INTERPOLATED_TAPS_STEP, TAPS_STEP } from "../numbers/resampler.ts";
import { highHalves, lowHalves } from "./lanes.ts";

const STEP_BYTES = F32_BYTES * TAPS_STEP;
const INTERPOLATED_STEP_BYTES = F32_BYTES * INTERPOLATED_TAPS_STEP;

/**
 * Writes a row of a windowed sinc to `first`, and backwards to `mirrored` (its last tap). Tap 0 is `startTime` samples
 * from the middle; `turn` is the angle per sample, of which sine and cosine at tap 0 and of one step are given. The
 * window is a power series of `terms` f64 at `series` in the height of a parabola (1 in the middle, 0 at either edge).
 */
export function fillRow(
  first: usize,
  mirrored: usize,
  tapCount: u32,
  startTime: f64,
  series: usize,
  terms: u32,
  turn: f64,
  startSine: f64,
  startCosine: f64,
  stepSine: f64,
  stepCosine: f64,
): void {
  const end: usize = first + F32_BYTES * tapCount;
  let time = startTime;
  let sine = startSine;
  let cosine = startCosine;
  let sum: f64 = 0;
  let tap = first;
  do {
    const angle = turn * time;
    let value = windowAt((2 * time) / f64(i32(tapCount)), series, terms);
    if (angle !== 0) value = value * (sine / angle);
    sum = sum + value;
    store<f32>(tap, f32(value));
    time = time + 1;
    const sineNext = sine * stepCosine + cosine * stepSine;
    cosine = cosine * stepCosine - sine * stepSine;
    sine = sineNext;
    tap += F32_BYTES;
  } while (tap < end);
  // Each row passes a constant unchanged.
  tap = first;
  do {
    store<f32>(tap, f32(f64(load<f32>(tap)) / sum));
    tap += F32_BYTES;
  } while (tap < end);
  // The middle row is its own mirror image, so it is written only when all of it is scaled.
  tap = first;
  let to = mirrored;
  do {
    store<f32>(to, load<f32>(tap));
    tap += F32_BYTES;
    to -= F32_BYTES;
  } while (tap < end);
}

/** 1 in the middle (0), almost 0 at either edge (-1 and 1), 0 beyond. */
function windowAt(edge: f64, series: usize, terms: u32): f64 {
  const height: f64 = 1 - edge * edge;
  let value: f64 = 0;
  if (height >= 0) {
    let term: usize = series + F64_BYTES * terms;
    do {
      term -= F64_BYTES;
      value = value * height + load<f64>(term);
    } while (term > series);
  }
  return value;
}

/**
 * Writes `count` output samples. Position in the input is `left` plus phase / phaseCount samples; each output moves it
 * by stepBytes / 4 + stepPhase / phaseCount. Row number = phase.
 */
export function resample(
  table: usize,
  rowBytes: usize,
  left: usize,
  right: usize,
  outLeft: usize,
  outRight: usize,
  count: u32,
  phase: u32,
  phaseCount: u32,
  stepBytes: usize,
  stepPhase: u32,
  _rowsPerPhase: f64,
): void {
  if (count === 0) return;
  do {
    let tap: usize = table + phase * rowBytes;
    const end = tap + rowBytes;
    let l = left;
    let r = right;
    let l0 = f32x4.splat(0);
    let l1 = f32x4.splat(0);
    let r0 = f32x4.splat(0);
    let r1 = f32x4.splat(0);
    do {
      const k0 = v128.load(tap);
      l0 = f32x4.add(l0, f32x4.mul(k0, v128.load(l)));
      r0 = f32x4.add(r0, f32x4.mul(k0, v128.load(r)));
      const k1 = v128.load(tap, VECTOR_BYTES);
      l1 = f32x4.add(l1, f32x4.mul(k1, v128.load(l, VECTOR_BYTES)));
      r1 = f32x4.add(r1, f32x4.mul(k1, v128.load(r, VECTOR_BYTES)));
      l += STEP_BYTES;
      r += STEP_BYTES;
      tap += STEP_BYTES;
    } while (tap < end);
    const sums = halfSums(f32x4.add(l0, l1), f32x4.add(r0, r1));
    store<f32>(outLeft, f32x4.extract_lane(sums, 0) + f32x4.extract_lane(sums, 1));
    store<f32>(outRight, f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3));
    outLeft += F32_BYTES;
    outRight += F32_BYTES;
    left += stepBytes;
    right += stepBytes;
    phase += stepPhase;
    if (phase >= phaseCount) {
      phase -= phaseCount;
      left += F32_BYTES;
      right += F32_BYTES;
    }
    count--;
  } while (count !== 0);
}

/**
 * Like `resample`, with fewer rows than phases (rowsPerPhase < 1): taps are interpolated between the two nearest rows.
 * Row numbers are fixed-point with 32 bits behind the point: converting between whole numbers and floats costs more
 * than the taps.
 */
export function resampleInterpolated(
  table: usize,
  rowBytes: usize,
  left: usize,
  right: usize,
  outLeft: usize,
  outRight: usize,
  count: u32,
  phase: u32,
  phaseCount: u32,
  stepBytes: usize,
  stepPhase: u32,
  rowsPerPhase: f64,
): void {
  const rowStep = u64(rowsPerPhase * 4294967296);
  if (count === 0) return;
  do {
    const row: u64 = u64(phase) * rowStep;
    // The upper 24 of the bits behind the point, which a float holds.
    const part = u32(row >> 8) & 0xffffff;
    const mix = f32x4.splat(f32(1.0 / 16777216.0) * f32(i32(part)));
    let tap: usize = table + u32(row >> 32) * rowBytes;
    const end = tap + rowBytes;
    let upper = end;
    let l = left;
    let r = right;
    let l0 = f32x4.splat(0);
    let r0 = f32x4.splat(0);
    do {
      const lower = v128.load(tap);
      const k = f32x4.add(lower, f32x4.mul(mix, f32x4.sub(v128.load(upper), lower)));
      l0 = f32x4.add(l0, f32x4.mul(k, v128.load(l)));
      r0 = f32x4.add(r0, f32x4.mul(k, v128.load(r)));
      l += INTERPOLATED_STEP_BYTES;
      r += INTERPOLATED_STEP_BYTES;
      upper += INTERPOLATED_STEP_BYTES;
      tap += INTERPOLATED_STEP_BYTES;
    } while (tap < end);
    const sums = halfSums(l0, r0);
    store<f32>(outLeft, f32x4.extract_lane(sums, 0) + f32x4.extract_lane(sums, 1));
    store<f32>(outRight, f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3));
    outLeft += F32_BYTES;
    outRight += F32_BYTES;
    left += stepBytes;
    right += stepBytes;
    phase += stepPhase;
    if (phase >= phaseCount) {
      phase -= phaseCount;
      left += F32_BYTES;
      right += F32_BYTES;
    }
    count--;
  } while (count !== 0);
}

/** The sum of the lanes of `left` in lanes 0 and 1, of `right` in 2 and 3: each pair still has to be added. */
function halfSums(left: v128, right: v128): v128 {
  return f32x4.add(lowHalves(left, right), highHalves(left, right));
}
