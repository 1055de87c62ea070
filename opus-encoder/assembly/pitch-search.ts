// Searches for the period with which audio repeats itself, in the sum of both channels at a half and a quarter of the
// rate. AssemblyScript.

import { F32_BYTES, FRAME_SAMPLES, PERIOD_MAX, PERIOD_MIN, VECTOR_BYTES } from "../src/numbers.ts";
import { PITCH_PAST_SAMPLES } from "./format.ts";
import { dot, floatAt } from "./lists.ts";
import { SPARE, UNFILTERED, UNFILTERED_BYTES } from "./memory-map.ts";
import { whiten } from "./pitch-whitening.ts";
import { retained, retainedFloat } from "./retained.ts";
import { PITCH_GAIN, PITCH_PERIOD } from "./slot.ts";

const ALL_SAMPLES: usize = PITCH_PAST_SAMPLES + FRAME_SAMPLES;
/** Audio at a half, a quarter and an eighth of the rate; in each, where the frame begins and how long it is. */
const HALVED: usize = SPARE;
const HALF_FRAME: i32 = FRAME_SAMPLES / 2;
const HALF_PAST: i32 = i32(PITCH_PAST_SAMPLES) / 2;
const QUARTERED: usize = HALVED + F32_BYTES * (ALL_SAMPLES / 2);
const QUARTER_FRAME: i32 = FRAME_SAMPLES / 4;
const QUARTER_PAST: i32 = i32(PITCH_PAST_SAMPLES) / 4;
const EIGHTHED: usize = QUARTERED + F32_BYTES * (ALL_SAMPLES / 4);
const EIGHTH_FRAME: i32 = FRAME_SAMPLES / 8;
const EIGHTH_PAST: i32 = i32(PITCH_PAST_SAMPLES) / 8;
/** Shorter periods are searched among the fractions of longer ones: all audio is similar to itself a moment later. */
const EIGHTH_LAG_MIN: i32 = 6;
const PARTS_MAX: i32 = 8;
/** Share of the likeness that must remain with a fraction of the period. */
const PART_LIKENESS: f32 = 0.8;
/** The likeness that suffices when the previous frame had this period. */
const KNOWN_PART_LIKENESS: f32 = 0.6;

let likeness: f32 = 0;
/** Energy of the frame at half the rate. */
let frameEnergy: f32 = 0;

/** How much of the audio the audio one period before predicts, 0 to 1. */
export function periodLikeness(): f32 {
  return likeness;
}

/** The period in samples. */
export function findPeriod(channels: i32): i32 {
  halve(UNFILTERED, channels === 1 ? UNFILTERED : UNFILTERED + UNFILTERED_BYTES, HALVED, i32(ALL_SAMPLES) / 2);
  whiten(HALVED, i32(ALL_SAMPLES) / 2);
  halve(HALVED, HALVED, QUARTERED, i32(ALL_SAMPLES) / 4);
  halve(QUARTERED, QUARTERED, EIGHTHED, i32(ALL_SAMPLES) / 8);
  const frame = HALVED + F32_BYTES * usize(HALF_PAST);
  frameEnergy = dot(frame, frame, HALF_FRAME);
  const lag = shortestLag(refined(coarseLag()));
  likeness = predicted(lag);
  return max(PERIOD_MIN, min(PERIOD_MAX, 2 * lag + halfStep(lag)));
}

/** The sum of two signals, every second sample of it smoothed. */
function halve(a: usize, b: usize, to: usize, count: i32): void {
  const quarter = f32x4.splat(0.25);
  const half = f32x4.splat(0.5);
  const end = to + F32_BYTES * usize(count);
  while (to < end) {
    const x0 = f32x4.add(v128.load(a), v128.load(b));
    const x1 = f32x4.add(v128.load(a, VECTOR_BYTES), v128.load(b, VECTOR_BYTES));
    const before0 = f32x4.add(v128.load(a - F32_BYTES), v128.load(b - F32_BYTES));
    const before1 = f32x4.add(v128.load(a - F32_BYTES, VECTOR_BYTES), v128.load(b - F32_BYTES, VECTOR_BYTES));
    const even = f32x4.shuffle(x0, x1, 0, 2, 4, 6);
    const odd = f32x4.shuffle(x0, x1, 1, 3, 5, 7);
    const oddBefore = f32x4.shuffle(before0, before1, 0, 2, 4, 6);
    v128.store(to, f32x4.add(f32x4.mul(half, even), f32x4.mul(quarter, f32x4.add(odd, oddBefore))));
    a += 2 * VECTOR_BYTES;
    b += 2 * VECTOR_BYTES;
    to += VECTOR_BYTES;
  }
}

/** The lag at which the frame is most similar to the past, in samples of an eighth of the rate. */
function coarseLag(): i32 {
  const frame = EIGHTHED + F32_BYTES * usize(EIGHTH_PAST);
  let best = EIGHTH_LAG_MIN;
  let bestScore: f32 = -1;
  let lag = EIGHTH_LAG_MIN;
  let energy: f32 = 1 + energyAt(EIGHTHED, EIGHTH_PAST, lag, EIGHTH_FRAME);
  for (; lag + 3 < EIGHTH_PAST; lag += 4) {
    const products = fourProducts(frame, lag);
    for (let step = 0; step < 4; step++) {
      const product =
        step === 0
          ? f32x4.extract_lane(products, 0)
          : step === 1
            ? f32x4.extract_lane(products, 1)
            : step === 2
              ? f32x4.extract_lane(products, 2)
              : f32x4.extract_lane(products, 3);
      const score: f32 = product > 0 ? (product * product) / energy : 0;
      if (score > bestScore) {
        bestScore = score;
        best = lag + step;
      }
      // One sample earlier.
      const first = floatAt(EIGHTHED, EIGHTH_PAST - lag - step - 1);
      const last = floatAt(EIGHTHED, EIGHTH_PAST - lag - step - 1 + EIGHTH_FRAME);
      energy = max<f32>(1, energy + first * first - last * last);
    }
  }
  return best;
}

/** The products of the frame with the samples `lag` to `lag` + 3 before it. */
function fourProducts(frame: usize, lag: i32): v128 {
  let at = frame;
  let before = frame - F32_BYTES * usize(lag);
  const end = frame + F32_BYTES * usize(EIGHTH_FRAME);
  let a = f32x4.splat(0);
  let b = f32x4.splat(0);
  let c = f32x4.splat(0);
  let d = f32x4.splat(0);
  do {
    const x = v128.load(at);
    a = f32x4.add(a, f32x4.mul(x, v128.load(before)));
    b = f32x4.add(b, f32x4.mul(x, v128.load(before - F32_BYTES)));
    c = f32x4.add(c, f32x4.mul(x, v128.load(before - 2 * F32_BYTES)));
    d = f32x4.add(d, f32x4.mul(x, v128.load(before - 3 * F32_BYTES)));
    at += VECTOR_BYTES;
    before += VECTOR_BYTES;
  } while (at < end);
  const ab = f32x4.add(f32x4.shuffle(a, b, 0, 4, 1, 5), f32x4.shuffle(a, b, 2, 6, 3, 7));
  const cd = f32x4.add(f32x4.shuffle(c, d, 0, 4, 1, 5), f32x4.shuffle(c, d, 2, 6, 3, 7));
  return f32x4.add(f32x4.shuffle(ab, cd, 0, 1, 4, 5), f32x4.shuffle(ab, cd, 2, 3, 6, 7));
}

function energyAt(audio: usize, past: i32, lag: i32, length: i32): f32 {
  const address = audio + F32_BYTES * usize(past - lag);
  return dot(address, address, length);
}

/** The lag in samples of a half of the rate, refined through a quarter of it. */
function refined(eighthLag: i32): i32 {
  const quarterLag = bestNear(2 * eighthLag, QUARTERED, QUARTER_PAST, QUARTER_FRAME);
  return bestNear(2 * quarterLag, HALVED, HALF_PAST, HALF_FRAME);
}

/** The most similar lag of this one and its two neighbours. */
function bestNear(lag: i32, audio: usize, past: i32, length: i32): i32 {
  const frame = audio + F32_BYTES * usize(past);
  let best = lag;
  let bestScore: f32 = -1;
  for (let near = max(2, lag - 1); near <= min(lag + 1, past - 1); near++) {
    const before = frame - F32_BYTES * usize(near);
    const product = dot(frame, before, length);
    const score: f32 = product > 0 ? (product * product) / (1 + dot(before, before, length)) : 0;
    if (score > bestScore) {
      bestScore = score;
      best = near;
    }
  }
  return best;
}

/** A fraction of the period if it is as good: a periodic signal also repeats after two periods. */
function shortestLag(lag: i32): i32 {
  const whole = correlation(lag);
  const known = retained(PITCH_PERIOD) >> 1;
  const isKnown = retainedFloat(PITCH_GAIN) > 0;
  for (let parts = PARTS_MAX; parts >= 2; parts--) {
    const part = (lag + (parts >> 1)) / parts;
    if (part < PERIOD_MIN / 2 + 1) continue;
    const share: f32 = isKnown && abs(part - known) <= 1 ? KNOWN_PART_LIKENESS : PART_LIKENESS;
    // Short periods are easily found by mistake.
    const least: f32 = part < 2 * PERIOD_MIN ? 0.5 : 0.3;
    if (correlation(part) > max<f32>(least, share * whole)) return part;
  }
  return lag;
}

/** -1 to 1. */
function correlation(lag: i32): f32 {
  const frame = HALVED + F32_BYTES * usize(HALF_PAST);
  const before = frame - F32_BYTES * usize(lag);
  const product = dot(frame, before, HALF_FRAME);
  return product / Mathf.sqrt(1 + frameEnergy * dot(before, before, HALF_FRAME));
}

/** The factor with which the past predicts the frame best, no more than the likeness. */
function predicted(lag: i32): f32 {
  const frame = HALVED + F32_BYTES * usize(HALF_PAST);
  const before = frame - F32_BYTES * usize(lag);
  const factor = dot(frame, before, HALF_FRAME) / (1 + dot(before, before, HALF_FRAME));
  return max<f32>(0, min(factor, correlation(lag)));
}

/** Half a sample more or less, if the neighbours suggest it. */
function halfStep(lag: i32): i32 {
  const frame = HALVED + F32_BYTES * usize(HALF_PAST);
  const middle = dot(frame, frame - F32_BYTES * usize(lag), HALF_FRAME);
  const shorter = dot(frame, frame - F32_BYTES * usize(lag - 1), HALF_FRAME);
  const longer = dot(frame, frame - F32_BYTES * usize(lag + 1), HALF_FRAME);
  if (longer - shorter > 0.7 * (middle - shorter)) return 1;
  return shorter - longer > 0.7 * (middle - longer) ? -1 : 0;
}
