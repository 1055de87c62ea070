// The transform from time to frequency (a DCT-IV of the reversed series) and back: one long series of 960 or 480 samples,
// or four series of 120 or 240, one in each lane. The work is a Fourier transform of half the length between two
// rotations. From frequency to time, input and output are both reversed. AssemblyScript.

import { VECTOR_BYTES } from "../src/numbers.ts";
import { SHORT_SAMPLES } from "./format.ts";
import { transform60, transform120 } from "./fourier.ts";
import { LANE_TURNS, SPARE, STEP_BYTES, STEPS } from "./memory-map.ts";

const SAMPLE: usize = 2 * VECTOR_BYTES;

export function reversed(lanes: v128): v128 {
  return f32x4.shuffle(lanes, lanes, 3, 2, 1, 0);
}

/**
 * Transforms `8 * count` samples (`count` is 120 or 60) and multiplies by `scale`. `turns` are the cosines, then the
 * sines, of the rotations. `toTime`: from frequency to time.
 */
export function transformLong(from: usize, to: usize, count: usize, turns: usize, scale: f32, toTime: bool): void {
  turnLongInput(from, count, turns, scale, toTime);
  if (count === 120) {
    transform120();
    joinLanes(STEPS, STEPS + STEP_BYTES, count);
    writeLong(STEPS + STEP_BYTES, to, count, turns, toTime);
  } else {
    transform60();
    joinLanes(STEPS + STEP_BYTES, STEPS, count);
    writeLong(STEPS, to, count, turns, toTime);
  }
}

/**
 * Transforms four series of `2 * count` samples (`count` is 60 or 120), one in each lane. Samples lie `fromStep` bytes
 * apart, and afterwards `toStep`: from frequency to time, addresses are of the last sample and steps negative.
 */
export function transformLanes(
  from: usize,
  fromStep: usize,
  to: usize,
  toStep: usize,
  count: usize,
  turns: usize,
  scale: f32,
): void {
  const factor = f32x4.splat(scale);
  const sines = turns + 4 * count;
  let back = from + (2 * count - 1) * fromStep;
  let front = from;
  for (let index: usize = 0; index < count; index++) {
    const imaginary = v128.load(front);
    const real = v128.load(back);
    const cosine = f32x4.mul(v128.load32_splat(turns + 4 * index), factor);
    const sine = f32x4.mul(v128.load32_splat(sines + 4 * index), factor);
    const step = STEPS + index * SAMPLE;
    v128.store(step, f32x4.add(f32x4.mul(real, cosine), f32x4.mul(imaginary, sine)));
    v128.store(step, f32x4.sub(f32x4.mul(imaginary, cosine), f32x4.mul(real, sine)), VECTOR_BYTES);
    front += 2 * fromStep;
    back -= 2 * fromStep;
  }
  let sample = STEPS;
  if (count === 120) transform120();
  else {
    transform60();
    sample += STEP_BYTES;
  }
  front = to;
  back = to + (2 * count - 1) * toStep;
  for (let index: usize = 0; index < count; index++) {
    const real = v128.load(sample);
    const imaginary = v128.load(sample, VECTOR_BYTES);
    const cosine = v128.load32_splat(turns + 4 * index);
    const sine = v128.load32_splat(sines + 4 * index);
    v128.store(front, f32x4.neg(f32x4.add(f32x4.mul(imaginary, sine), f32x4.mul(real, cosine))));
    v128.store(back, f32x4.sub(f32x4.mul(imaginary, cosine), f32x4.mul(real, sine)));
    sample += SAMPLE;
    front += 2 * toStep;
    back -= 2 * toStep;
  }
}

/** Four series of 120 samples, `seriesBytes` apart, become the lanes of 120 vectors. */
export function transposed(from: usize, seriesBytes: usize, to: usize): void {
  for (let at: usize = 0; at < 4 * SHORT_SAMPLES; at += VECTOR_BYTES) {
    const a = v128.load(from + at);
    const b = v128.load(from + seriesBytes + at);
    const c = v128.load(from + 2 * seriesBytes + at);
    const d = v128.load(from + 3 * seriesBytes + at);
    const ab = f32x4.shuffle(a, b, 0, 4, 1, 5);
    const cd = f32x4.shuffle(c, d, 0, 4, 1, 5);
    const ab2 = f32x4.shuffle(a, b, 2, 6, 3, 7);
    const cd2 = f32x4.shuffle(c, d, 2, 6, 3, 7);
    const vectors = to + 4 * at;
    v128.store(vectors, f32x4.shuffle(ab, cd, 0, 1, 4, 5));
    v128.store(vectors, f32x4.shuffle(ab, cd, 2, 3, 6, 7), VECTOR_BYTES);
    v128.store(vectors, f32x4.shuffle(ab2, cd2, 0, 1, 4, 5), 2 * VECTOR_BYTES);
    v128.store(vectors, f32x4.shuffle(ab2, cd2, 2, 3, 6, 7), 3 * VECTOR_BYTES);
  }
}

/** Sample n of the complex series is n / 4 in lane n % 4: from both ends of the series, rotated. */
function turnLongInput(from: usize, count: usize, turns: usize, factor: f32, isReversed: bool): void {
  const scale = f32x4.splat(factor);
  let to = STEPS;
  let front = from;
  let back: usize = from + SAMPLE * (count - 1);
  let turn = turns;
  const sines: usize = VECTOR_BYTES * count;
  const end = STEPS + SAMPLE * count;
  do {
    const f0 = v128.load(front);
    const f1 = v128.load(front, VECTOR_BYTES);
    const b0 = v128.load(back);
    const b1 = v128.load(back, VECTOR_BYTES);
    let imaginary = f32x4.shuffle(f0, f1, 0, 2, 4, 6);
    let real = f32x4.shuffle(b0, b1, 7, 5, 3, 1);
    if (isReversed) {
      const first = imaginary;
      imaginary = real;
      real = first;
    }
    const cosine = f32x4.mul(v128.load(turn), scale);
    const sine = f32x4.mul(v128.load(turn + sines), scale);
    v128.store(to, f32x4.add(f32x4.mul(real, cosine), f32x4.mul(imaginary, sine)));
    v128.store(to, f32x4.sub(f32x4.mul(imaginary, cosine), f32x4.mul(real, sine)), VECTOR_BYTES);
    front += SAMPLE;
    back -= SAMPLE;
    turn += VECTOR_BYTES;
    to += SAMPLE;
  } while (to < end);
}

/**
 * The last step of the long transform, across the lanes of `count` samples at `from`. Writes real parts to `reals` and
 * imaginary ones to SPARE.
 */
function joinLanes(from: usize, reals: usize, count: usize): void {
  const quarter = 4 * count;
  const turnStep: usize = (SHORT_SAMPLES / count) * SAMPLE;
  let t: usize = LANE_TURNS;
  for (let step: usize = 0; step < count; step += 4) {
    const x = from + step * SAMPLE;
    const ar = turnedReal(x, t);
    const ai = turnedImaginary(x, t);
    t += turnStep;
    const br = turnedReal(x + SAMPLE, t);
    const bi = turnedImaginary(x + SAMPLE, t);
    t += turnStep;
    const cr = turnedReal(x + 2 * SAMPLE, t);
    const ci = turnedImaginary(x + 2 * SAMPLE, t);
    t += turnStep;
    const dr = turnedReal(x + 3 * SAMPLE, t);
    const di = turnedImaginary(x + 3 * SAMPLE, t);
    t += turnStep;
    // From steps of all lanes to lanes of all steps.
    const abr = f32x4.shuffle(ar, br, 0, 4, 1, 5);
    const cdr = f32x4.shuffle(cr, dr, 0, 4, 1, 5);
    const abr2 = f32x4.shuffle(ar, br, 2, 6, 3, 7);
    const cdr2 = f32x4.shuffle(cr, dr, 2, 6, 3, 7);
    const abi = f32x4.shuffle(ai, bi, 0, 4, 1, 5);
    const cdi = f32x4.shuffle(ci, di, 0, 4, 1, 5);
    const abi2 = f32x4.shuffle(ai, bi, 2, 6, 3, 7);
    const cdi2 = f32x4.shuffle(ci, di, 2, 6, 3, 7);
    const r0 = f32x4.shuffle(abr, cdr, 0, 1, 4, 5);
    const r1 = f32x4.shuffle(abr, cdr, 2, 3, 6, 7);
    const r2 = f32x4.shuffle(abr2, cdr2, 0, 1, 4, 5);
    const r3 = f32x4.shuffle(abr2, cdr2, 2, 3, 6, 7);
    const i0 = f32x4.shuffle(abi, cdi, 0, 1, 4, 5);
    const i1 = f32x4.shuffle(abi, cdi, 2, 3, 6, 7);
    const i2 = f32x4.shuffle(abi2, cdi2, 0, 1, 4, 5);
    const i3 = f32x4.shuffle(abi2, cdi2, 2, 3, 6, 7);
    const pr = f32x4.add(r0, r2);
    const pi = f32x4.add(i0, i2);
    const mr = f32x4.sub(r0, r2);
    const mi = f32x4.sub(i0, i2);
    const qr = f32x4.add(r1, r3);
    const qi = f32x4.add(i1, i3);
    const nr = f32x4.sub(r1, r3);
    const ni = f32x4.sub(i1, i3);
    const real = reals + 4 * step;
    const imaginary = SPARE + 4 * step;
    v128.store(real, f32x4.add(pr, qr));
    v128.store(real + quarter, f32x4.add(mr, ni));
    v128.store(real + 2 * quarter, f32x4.sub(pr, qr));
    v128.store(real + 3 * quarter, f32x4.sub(mr, ni));
    v128.store(imaginary, f32x4.add(pi, qi));
    v128.store(imaginary + quarter, f32x4.sub(mi, nr));
    v128.store(imaginary + 2 * quarter, f32x4.sub(pi, qi));
    v128.store(imaginary + 3 * quarter, f32x4.add(mi, nr));
  }
}

function turnedReal(sample: usize, turn: usize): v128 {
  const real = f32x4.mul(v128.load(sample), v128.load(turn));
  return f32x4.add(real, f32x4.mul(v128.load(sample, VECTOR_BYTES), v128.load(turn, VECTOR_BYTES)));
}

function turnedImaginary(sample: usize, turn: usize): v128 {
  const imaginary = f32x4.mul(v128.load(sample, VECTOR_BYTES), v128.load(turn));
  return f32x4.sub(imaginary, f32x4.mul(v128.load(sample), v128.load(turn, VECTOR_BYTES)));
}

/** Even samples come from the front of the transformed series, odd ones from its back; or the reverse of it all. */
function writeLong(reals: usize, to: usize, count: usize, turns: usize, isReversed: bool): void {
  const bytes: usize = VECTOR_BYTES * count;
  let back: usize = bytes - VECTOR_BYTES;
  for (let front: usize = 0; front < bytes; front += VECTOR_BYTES) {
    let even: v128;
    let odd: v128;
    if (isReversed) {
      even = acrossTurn(reals, front, turns, bytes);
      odd = reversed(alongTurn(reals, back, turns, bytes));
    } else {
      even = alongTurn(reals, front, turns, bytes);
      odd = reversed(acrossTurn(reals, back, turns, bytes));
    }
    v128.store(to + 2 * front, f32x4.shuffle(even, odd, 0, 4, 1, 5));
    v128.store(to + 2 * front, f32x4.shuffle(even, odd, 2, 6, 3, 7), VECTOR_BYTES);
    back -= VECTOR_BYTES;
  }
}

/** The negative real part of four samples, turned back. */
function alongTurn(reals: usize, at: usize, turns: usize, sines: usize): v128 {
  const real = f32x4.mul(v128.load(reals + at), v128.load(turns + at));
  return f32x4.neg(f32x4.add(f32x4.mul(v128.load(SPARE + at), v128.load(turns + sines + at)), real));
}

/** The imaginary part of four samples, turned back. */
function acrossTurn(reals: usize, at: usize, turns: usize, sines: usize): v128 {
  const real = f32x4.mul(v128.load(reals + at), v128.load(turns + sines + at));
  return f32x4.sub(f32x4.mul(v128.load(SPARE + at), v128.load(turns + at)), real);
}
