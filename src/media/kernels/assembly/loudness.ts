// The inner loops of the loudness stage: K weighting in 64-bit floats, left and right in the two lanes of a vector;
// peaks between samples, the check of samples and the gain in 32-bit floats, four samples at a time. AssemblyScript;
// the plain loops are in ../loudness-kernel.ts, the memory in ../numbers/loudness.ts. Audio thread.

import { F32_BYTES, VECTOR_BYTES } from "../numbers/block.ts";
import {
  CHUNK_GAINS,
  CHUNK_PEAKS,
  CHUNK_SAMPLES,
  HIGH_PASS_A1,
  HIGH_PASS_A2,
  LOUDNESS_LEFT,
  LOUDNESS_LEFT_OUT,
  LOUDNESS_RIGHT,
  LOUDNESS_RIGHT_OUT,
  PEAK_TAPS,
  REACH_BEFORE_SAMPLES,
  SAMPLE_MAX,
  SHELF_A1,
  SHELF_A2,
  SHELF_B0,
  SHELF_B1,
  SHELF_B2,
  TAP_PAIR_BYTES,
  TAP_PAIRS,
  WEIGHTING_STATE,
} from "../numbers/loudness.ts";
import { lowPairs } from "./lanes.ts";

const CHUNK_BYTES = F32_BYTES * CHUNK_SAMPLES;
/** Offsets in a pair's taps: after the half-way one, an even and an odd one for each early position. */
const EVEN_1 = VECTOR_BYTES;
const ODD_1 = 2 * VECTOR_BYTES;
const EVEN_2 = 3 * VECTOR_BYTES;
const ODD_2 = 4 * VECTOR_BYTES;
const EVEN_3 = 5 * VECTOR_BYTES;
const ODD_3 = 6 * VECTOR_BYTES;

/**
 * Weighs `count` samples (1 at least) from number `start` on; returns the sum of their squares. w = x - a2 w2 - a1 w1;
 * y = b0 w + b1 w1 + b2 w2; v = y - c2 v2 - c1 v1; z = v - 2 v1 + v2; sum += z z
 */
export function weigh(start: u32, count: u32): f64 {
  let at: usize = F32_BYTES * start;
  const end: usize = at + F32_BYTES * count;
  let w1 = v128.load(WEIGHTING_STATE);
  let w2 = v128.load(WEIGHTING_STATE + VECTOR_BYTES);
  let v1 = v128.load(WEIGHTING_STATE + 2 * VECTOR_BYTES);
  let v2 = v128.load(WEIGHTING_STATE + 3 * VECTOR_BYTES);
  let sum = f64x2.splat(0);
  do {
    const x = f64x2.promote_low_f32x4(
      lowPairs(v128.load32_zero(at, LOUDNESS_LEFT), v128.load32_zero(at, LOUDNESS_RIGHT)),
    );
    const w = f64x2.sub(f64x2.sub(x, times(SHELF_A2, w2)), times(SHELF_A1, w1));
    const shelved = f64x2.add(f64x2.add(times(SHELF_B0, w), times(SHELF_B1, w1)), times(SHELF_B2, w2));
    const v = f64x2.sub(f64x2.sub(shelved, times(HIGH_PASS_A2, v2)), times(HIGH_PASS_A1, v1));
    const z = f64x2.add(f64x2.sub(v, f64x2.add(v1, v1)), v2);
    w2 = w1;
    w1 = w;
    v2 = v1;
    v1 = v;
    sum = f64x2.add(sum, f64x2.mul(z, z));
    at += F32_BYTES;
  } while (at < end);
  v128.store(WEIGHTING_STATE, w1);
  v128.store(WEIGHTING_STATE + VECTOR_BYTES, w2);
  v128.store(WEIGHTING_STATE + 2 * VECTOR_BYTES, v1);
  v128.store(WEIGHTING_STATE + 3 * VECTOR_BYTES, v2);
  return f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1);
}

function times(factor: f64, x: v128): v128 {
  return f64x2.mul(f64x2.splat(factor), x);
}

/**
 * Finds the peaks of `count` chunks (1 at least) from sample `start` on. A chunk with no sample above `quiet` needs no
 * more, nor does one with nothing above `close` half way between samples.
 */
export function peaks(start: u32, count: u32, quiet: f32, close: f32): void {
  let left: usize = LOUDNESS_LEFT + F32_BYTES * start;
  let right: usize = LOUDNESS_RIGHT + F32_BYTES * start;
  const end: usize = F32_BYTES * count;
  let to: usize = 0;
  do {
    let highest = highestLane(f32x4.pmax(around(left), around(right)));
    if (highest > quiet) {
      highest = highestLane(f32x4.pmax(halfWay(left), halfWay(right)));
      if (highest > close) {
        highest = max<f32>(highest, highestLane(f32x4.pmax(otherPositions(left), otherPositions(right))));
      }
    }
    store<f32>(to, highest, CHUNK_PEAKS);
    left += CHUNK_BYTES;
    right += CHUNK_BYTES;
    to += F32_BYTES;
  } while (to < end);
}

/** The highest absolute value of 28 samples: from 6 before byte address `chunk` to 22 behind it. */
function around(chunk: usize): v128 {
  const at = chunk - F32_BYTES * REACH_BEFORE_SAMPLES;
  const first = f32x4.pmax(f32x4.abs(v128.load(at)), f32x4.abs(v128.load(at, VECTOR_BYTES)));
  const second = f32x4.pmax(f32x4.abs(v128.load(at, 2 * VECTOR_BYTES)), f32x4.abs(v128.load(at, 3 * VECTOR_BYTES)));
  const third = f32x4.pmax(f32x4.abs(v128.load(at, 4 * VECTOR_BYTES)), f32x4.abs(v128.load(at, 5 * VECTOR_BYTES)));
  return f32x4.pmax(f32x4.pmax(first, second), f32x4.pmax(third, f32x4.abs(v128.load(at, 6 * VECTOR_BYTES))));
}

/** The highest of the 17 samples at byte address `chunk` and of the values half way between them. */
function halfWay(chunk: usize): v128 {
  const end = chunk + CHUNK_BYTES;
  let highest = f32x4.splat(0);
  let at = chunk;
  do {
    const x = v128.load(at);
    const next = v128.load(at, F32_BYTES);
    let half = f32x4.mul(v128.load(PEAK_TAPS), f32x4.add(x, next));
    let before = at - F32_BYTES;
    let behind = at + 2 * F32_BYTES;
    const tapsEnd: usize = PEAK_TAPS + TAP_PAIRS * TAP_PAIR_BYTES;
    let tap: usize = PEAK_TAPS + TAP_PAIR_BYTES;
    do {
      half = f32x4.add(half, f32x4.mul(v128.load(tap), f32x4.add(v128.load(before), v128.load(behind))));
      before -= F32_BYTES;
      behind += F32_BYTES;
      tap += TAP_PAIR_BYTES;
    } while (tap < tapsEnd);
    highest = f32x4.pmax(f32x4.pmax(highest, f32x4.abs(next)), f32x4.pmax(f32x4.abs(x), f32x4.abs(half)));
    at += VECTOR_BYTES;
  } while (at < end);
  return highest;
}

/** The highest of six other positions between each of the 16 samples at byte address `chunk` and the next. */
function otherPositions(chunk: usize): v128 {
  const end = chunk + CHUNK_BYTES;
  let highest = f32x4.splat(0);
  let at = chunk;
  do {
    let even1 = f32x4.splat(0);
    let odd1 = f32x4.splat(0);
    let even2 = f32x4.splat(0);
    let odd2 = f32x4.splat(0);
    let even3 = f32x4.splat(0);
    let odd3 = f32x4.splat(0);
    let before = at;
    let behind = at + F32_BYTES;
    const tapsEnd: usize = PEAK_TAPS + TAP_PAIRS * TAP_PAIR_BYTES;
    let tap: usize = PEAK_TAPS;
    do {
      const sum = f32x4.add(v128.load(before), v128.load(behind));
      const difference = f32x4.sub(v128.load(before), v128.load(behind));
      even1 = f32x4.add(even1, f32x4.mul(v128.load(tap, EVEN_1), sum));
      odd1 = f32x4.add(odd1, f32x4.mul(v128.load(tap, ODD_1), difference));
      even2 = f32x4.add(even2, f32x4.mul(v128.load(tap, EVEN_2), sum));
      odd2 = f32x4.add(odd2, f32x4.mul(v128.load(tap, ODD_2), difference));
      even3 = f32x4.add(even3, f32x4.mul(v128.load(tap, EVEN_3), sum));
      odd3 = f32x4.add(odd3, f32x4.mul(v128.load(tap, ODD_3), difference));
      before -= F32_BYTES;
      behind += F32_BYTES;
      tap += TAP_PAIR_BYTES;
    } while (tap < tapsEnd);
    highest = f32x4.pmax(
      f32x4.pmax(highest, f32x4.add(f32x4.abs(even1), f32x4.abs(odd1))),
      f32x4.pmax(f32x4.add(f32x4.abs(even2), f32x4.abs(odd2)), f32x4.add(f32x4.abs(even3), f32x4.abs(odd3))),
    );
    at += VECTOR_BYTES;
  } while (at < end);
  return highest;
}

function highestLane(x: v128): f32 {
  return max<f32>(
    max<f32>(f32x4.extract_lane(x, 0), f32x4.extract_lane(x, 1)),
    max<f32>(f32x4.extract_lane(x, 2), f32x4.extract_lane(x, 3)),
  );
}

/** In `count` samples (1 at least) from number `start` on, replaces NaN with 0 and limits values beyond 16 to 16. */
export function makeSane(start: u32, count: u32): void {
  let at: usize = F32_BYTES * start;
  const end: usize = at + F32_BYTES * count;
  do {
    v128.store(at, sane(v128.load(at, LOUDNESS_LEFT)), LOUDNESS_LEFT);
    v128.store(at, sane(v128.load(at, LOUDNESS_RIGHT)), LOUDNESS_RIGHT);
    at += VECTOR_BYTES;
  } while (at < end);
}

function sane(x: v128): v128 {
  const cut = f32x4.pmax(f32x4.splat(f32(-SAMPLE_MAX)), f32x4.pmin(f32x4.splat(f32(SAMPLE_MAX)), x));
  return v128.and(f32x4.eq(x, x), cut);
}

/**
 * From number `start` on, multiplies `count` samples (1 at least) by the factors of their chunks, to the output. The
 * first chunk begins `within` samples before. Writes up to three samples too many, which the next chunk overwrites.
 */
export function scale(start: u32, count: u32, within: u32): void {
  let at: usize = F32_BYTES * start;
  let to: usize = 0;
  let gain: usize = CHUNK_GAINS;
  let left = count;
  let before = within;
  do {
    const piece = min<u32>(CHUNK_SAMPLES - before, left);
    const pieceBytes: usize = F32_BYTES * piece;
    const step = v128.load32_splat(gain, F32_BYTES);
    const positions = f32x4.add(f32x4.splat(f32(before)), f32x4(0, 1, 2, 3));
    let gains = f32x4.add(v128.load32_splat(gain), f32x4.mul(step, positions));
    const steps = f32x4.mul(step, f32x4.splat(4));
    let done: usize = 0;
    do {
      v128.store(to + done, f32x4.mul(gains, v128.load(at + done, LOUDNESS_LEFT)), LOUDNESS_LEFT_OUT);
      v128.store(to + done, f32x4.mul(gains, v128.load(at + done, LOUDNESS_RIGHT)), LOUDNESS_RIGHT_OUT);
      gains = f32x4.add(gains, steps);
      done += VECTOR_BYTES;
    } while (done < pieceBytes);
    at += pieceBytes;
    to += pieceBytes;
    gain += 2 * F32_BYTES;
    before = 0;
    left -= piece;
  } while (left !== 0);
}
