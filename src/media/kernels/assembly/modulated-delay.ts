// The inner loop of chorus and flanger: reads a delay line per side at a swinging position, by third-order Hermite
// interpolation between the four samples around it, and feeds it. The right side is a quarter of a turn ahead: sine and
// cosine of one pointer. Two samples at a time: left and right of the first and left and right of the second are the
// lanes. AssemblyScript; the plain loop is in ../modulated-delay-kernel.ts, the memory in
// ../numbers/modulated-delay.ts. Audio thread.

import { F32_BYTES, GROUP_SAMPLES, SILENCE_BIAS } from "../numbers/block.ts";
import {
  DELAY_LEFT,
  DELAY_LEFT_LINE,
  DELAY_LEFT_LINE_END,
  DELAY_LINE_SIZE,
  DELAY_POINTER,
  DELAY_RIGHT,
  DELAY_RIGHT_LINE,
  DELAY_RIGHT_LINE_END,
} from "../numbers/modulated-delay.ts";
import { highHalves, highPairs, lowHalves, lowPairs } from "./lanes.ts";

const LINE_MASK = DELAY_LINE_SIZE - 1;
const PAIR_BYTES = 2 * F32_BYTES;
/** Adding it moves whole numbers into the low bits of a 64-bit float. */
const WHOLE: f64 = 4503599627370496;

/**
 * Changes samples from number `start` to `end`, an even number of them and two at least, in place; `at` is the lines'
 * next sample, even. Delays (`centre` and how far it swings from it) are in samples, DELAY_SAMPLES_MIN at least: the
 * second of two samples must not need the first.
 */
export function swing(
  start: u32,
  end: u32,
  at: u32,
  sine: f64,
  cosine: f64,
  stepSine: f64,
  stepCosine: f64,
  centre: f64,
  distance: f64,
  feedback: f32,
  mix: f32,
): void {
  // p for the first sample of two, q for the second.
  let p = f64x2.replace_lane(f64x2.splat(sine), 1, cosine);
  let q = turned(p, f64x2.splat(stepCosine), f64x2.replace_lane(f64x2.splat(stepSine), 1, -stepSine));
  // Both turn by two samples.
  const along = f64x2.splat(stepCosine * stepCosine - stepSine * stepSine);
  const sine2: f64 = 2 * (stepSine * stepCosine);
  const across = f64x2.replace_lane(f64x2.splat(sine2), 1, -sine2);
  // The sample before the swing's centre position: one ring length further on, so never negative.
  let still = f64x2.splat(f64(i32(at) + LINE_MASK) - centre);
  const far = f64x2.splat(distance);
  const share = f32x4.splat(mix);
  const again = f32x4.splat(feedback);
  const to: usize = F32_BYTES * end;
  let n: usize = F32_BYTES * start;
  do {
    const first = f64x2.sub(still, f64x2.mul(far, p));
    const firstFloor = f64x2.floor(first);
    const firstWhole = f64x2.add(firstFloor, f64x2.splat(WHOLE));
    const a = v128.load(ringBytes(i32x4.extract_lane(firstWhole, 0)), DELAY_LEFT_LINE, F32_BYTES);
    const b = v128.load(ringBytes(i32x4.extract_lane(firstWhole, 2)), DELAY_RIGHT_LINE, F32_BYTES);
    const second = f64x2.sub(f64x2.add(still, f64x2.splat(1)), f64x2.mul(far, q));
    const secondFloor = f64x2.floor(second);
    const secondWhole = f64x2.add(secondFloor, f64x2.splat(WHOLE));
    const c = v128.load(ringBytes(i32x4.extract_lane(secondWhole, 0)), DELAY_LEFT_LINE, F32_BYTES);
    const d = v128.load(ringBytes(i32x4.extract_lane(secondWhole, 2)), DELAY_RIGHT_LINE, F32_BYTES);
    still = f64x2.add(still, f64x2.splat(2));
    // Weights, for four values at a time; they add up to 1.
    const t = lowHalves(
      f32x4.demote_f64x2_zero(f64x2.sub(first, firstFloor)),
      f32x4.demote_f64x2_zero(f64x2.sub(second, secondFloor)),
    );
    const t2 = f32x4.mul(t, t);
    const t3 = f32x4.mul(t2, t);
    const w0 = f32x4.sub(t2, f32x4.mul(f32x4.splat(0.5), f32x4.add(t, t3)));
    const w1 = f32x4.add(f32x4.sub(f32x4.splat(1), f32x4.mul(f32x4.splat(2.5), t2)), f32x4.mul(f32x4.splat(1.5), t3));
    const w3 = f32x4.mul(f32x4.splat(0.5), f32x4.sub(t3, t2));
    const w2 = f32x4.sub(f32x4.splat(1), f32x4.add(f32x4.add(w0, w1), w3));
    // The four samples around each position: transposed, the first of all four positions are one vector, and so on.
    const lowAB = lowPairs(a, b);
    const lowCD = lowPairs(c, d);
    const highAB = highPairs(a, b);
    const highCD = highPairs(c, d);
    const delayed = f32x4.add(
      f32x4.add(f32x4.mul(w0, lowHalves(lowAB, lowCD)), f32x4.mul(w1, highHalves(lowAB, lowCD))),
      f32x4.add(f32x4.mul(w2, lowHalves(highAB, highCD)), f32x4.mul(w3, highHalves(highAB, highCD))),
    );
    // The input, and the feed of the lines: left beside left.
    const x = lowPairs(v128.load64_zero(n, DELAY_LEFT), v128.load64_zero(n, DELAY_RIGHT));
    const retained = bySide(f32x4.add(f32x4.add(x, f32x4.splat(f32(SILENCE_BIAS))), f32x4.mul(delayed, again)));
    const address: usize = F32_BYTES * at;
    v128.store64_lane(address, retained, 0, DELAY_LEFT_LINE);
    v128.store64_lane(address, retained, 1, DELAY_RIGHT_LINE);
    if (at < u32(GROUP_SAMPLES)) {
      v128.store64_lane(address, retained, 0, DELAY_LEFT_LINE_END);
      v128.store64_lane(address, retained, 1, DELAY_RIGHT_LINE_END);
    }
    const mixed = bySide(f32x4.add(x, f32x4.mul(share, f32x4.sub(delayed, x))));
    v128.store64_lane(n, mixed, 0, DELAY_LEFT);
    v128.store64_lane(n, mixed, 1, DELAY_RIGHT);
    p = turned(p, along, across);
    q = turned(q, along, across);
    at = (at + 2) & LINE_MASK;
    n += PAIR_BYTES;
  } while (n < to);
  v128.store(DELAY_POINTER, p);
}

/** A pointer turned by an angle: its cosine in both lanes, its sine in lane 0 and that negated in lane 1. */
function turned(pointer: v128, along: v128, across: v128): v128 {
  return f64x2.add(f64x2.mul(pointer, along), f64x2.mul(across, f64x2.shuffle(pointer, pointer, 1, 0)));
}

/** Converts a sample's number to its byte offset in a ring. */
function ringBytes(sample: u32): usize {
  return F32_BYTES * (sample & LINE_MASK);
}

/** Reorders left, right, left, right to left, left, right, right. */
function bySide(x: v128): v128 {
  return f32x4.shuffle(x, x, 0, 2, 1, 3);
}
