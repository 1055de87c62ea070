// The inner loop of the vibrato: reads a delay line at a swinging position, by third-order Hermite interpolation
// between the four samples around it. Four output samples at a time: their positions are the lanes of two 64-bit
// vectors, their weights those of 32-bit ones, and so are the four samples around each position. The weights are the
// same for left and right. AssemblyScript; the plain loop is in ../vibrato-kernel.ts, the memory in
// ../numbers/vibrato.ts. Audio thread.

import { F32_BYTES, VECTOR_BYTES } from "../numbers/block.ts";
import { VIBRATO_LEFT, VIBRATO_LEFT_OUT, VIBRATO_RIGHT, VIBRATO_RIGHT_OUT } from "../numbers/vibrato.ts";
import { highHalves, highPairs, lowHalves, lowPairs, sumsOfHalves, sumsOfPairs } from "./lanes.ts";

/** Adding it moves whole numbers into the low bits of a 64-bit float. */
const WHOLE: f64 = 4503599627370496;

/**
 * The position of output n is `origin` + n - swing * sine, in samples; sine and cosine turn by a fixed angle each
 * sample. Outputs are written up to the next multiple of four.
 */
export function vibrate(
  count: u32,
  origin: f64,
  swing: f64,
  sine: f64,
  cosine: f64,
  stepSine: f64,
  stepCosine: f64,
): void {
  // Lane 1 is a sample ahead of lane 0.
  let s = f64x2.replace_lane(f64x2.splat(sine), 1, sine * stepCosine + cosine * stepSine);
  let c = f64x2.replace_lane(f64x2.splat(cosine), 1, cosine * stepCosine - sine * stepSine);
  // Sine and cosine of two steps, then of four.
  const sine2 = f64x2.splat(2 * (stepSine * stepCosine));
  const cosine2 = f64x2.splat(stepCosine * stepCosine - stepSine * stepSine);
  const sine4 = f64x2.mul(f64x2.splat(2), f64x2.mul(sine2, cosine2));
  const cosine4 = f64x2.sub(f64x2.mul(cosine2, cosine2), f64x2.mul(sine2, sine2));
  const far = f64x2.splat(swing);
  let still = f64x2.replace_lane(f64x2.splat(origin), 1, origin + 1);
  const end: usize = F32_BYTES * count;
  let at: usize = 0;
  if (at >= end) return;
  do {
    // The first two positions, and the two behind them.
    const first = f64x2.sub(still, f64x2.mul(far, s));
    const sAhead = f64x2.add(f64x2.mul(s, cosine2), f64x2.mul(c, sine2));
    const second = f64x2.sub(f64x2.add(still, f64x2.splat(2)), f64x2.mul(far, sAhead));
    still = f64x2.add(still, f64x2.splat(4));
    const sNext = f64x2.add(f64x2.mul(s, cosine4), f64x2.mul(c, sine4));
    c = f64x2.sub(f64x2.mul(c, cosine4), f64x2.mul(s, sine4));
    s = sNext;
    const firstFloor = f64x2.floor(first);
    const firstWhole = f64x2.add(firstFloor, f64x2.splat(WHOLE));
    const a: usize = F32_BYTES * i32x4.extract_lane(firstWhole, 0);
    const b: usize = F32_BYTES * i32x4.extract_lane(firstWhole, 2);
    const secondFloor = f64x2.floor(second);
    const secondWhole = f64x2.add(secondFloor, f64x2.splat(WHOLE));
    const d: usize = F32_BYTES * i32x4.extract_lane(secondWhole, 0);
    const e: usize = F32_BYTES * i32x4.extract_lane(secondWhole, 2);
    const t = lowHalves(
      f32x4.demote_f64x2_zero(f64x2.sub(first, firstFloor)),
      f32x4.demote_f64x2_zero(f64x2.sub(second, secondFloor)),
    );
    const t2 = f32x4.mul(t, t);
    const t3 = f32x4.mul(t2, t);
    const w0 = f32x4.sub(t2, f32x4.mul(f32x4.splat(0.5), f32x4.add(t, t3)));
    const w1 = f32x4.add(f32x4.sub(f32x4.splat(1), f32x4.mul(f32x4.splat(2.5), t2)), f32x4.mul(f32x4.splat(1.5), t3));
    const w3 = f32x4.mul(f32x4.splat(0.5), f32x4.sub(t3, t2));
    // The four weights add up to 1.
    const w2 = f32x4.sub(f32x4.splat(1), f32x4.add(f32x4.add(w0, w1), w3));
    // Transposes a vector per weight to a vector per sample.
    const low01 = lowPairs(w0, w1);
    const low23 = lowPairs(w2, w3);
    const wa = lowHalves(low01, low23);
    const wb = highHalves(low01, low23);
    const high01 = highPairs(w0, w1);
    const high23 = highPairs(w2, w3);
    const wd = lowHalves(high01, high23);
    const we = highHalves(high01, high23);
    // Weights times samples, then the sums of the lanes. The first of four samples is before the position.
    const leftAB = sumsOfPairs(
      f32x4.mul(wa, v128.load(a - F32_BYTES, VIBRATO_LEFT, F32_BYTES)),
      f32x4.mul(wb, v128.load(b - F32_BYTES, VIBRATO_LEFT, F32_BYTES)),
    );
    const leftDE = sumsOfPairs(
      f32x4.mul(wd, v128.load(d - F32_BYTES, VIBRATO_LEFT, F32_BYTES)),
      f32x4.mul(we, v128.load(e - F32_BYTES, VIBRATO_LEFT, F32_BYTES)),
    );
    v128.store(at, sumsOfHalves(leftAB, leftDE), VIBRATO_LEFT_OUT);
    const rightAB = sumsOfPairs(
      f32x4.mul(wa, v128.load(a, VIBRATO_RIGHT - F32_BYTES, F32_BYTES)),
      f32x4.mul(wb, v128.load(b, VIBRATO_RIGHT - F32_BYTES, F32_BYTES)),
    );
    const rightDE = sumsOfPairs(
      f32x4.mul(wd, v128.load(d, VIBRATO_RIGHT - F32_BYTES, F32_BYTES)),
      f32x4.mul(we, v128.load(e, VIBRATO_RIGHT - F32_BYTES, F32_BYTES)),
    );
    v128.store(at, sumsOfHalves(rightAB, rightDE), VIBRATO_RIGHT_OUT);
    at += VECTOR_BYTES;
  } while (at < end);
}
