// Discrete Fourier transforms of four series at once, one in each lane: 120 or 60 complex samples, in steps of 5, 4, 3
// (and 2) that alternate between the two halves of STEPS and leave the result in order (Stockham's algorithm, which
// needs no reordering). A sample is two vectors, real and imaginary parts. AssemblyScript.

import { VECTOR_BYTES } from "../src/numbers.ts";
import { ROOTS, STEP_BYTES, STEPS } from "./memory-map.ts";

const SAMPLE: usize = 2 * VECTOR_BYTES;
const HALF_ROOT_3: f32 = 0.8660254;
// Cosines and sines of a fifth and two fifths of a turn.
const COSINE_1: f32 = 0.309017;
const COSINE_2: f32 = -0.809017;
const SINE_1: f32 = 0.95105654;
const SINE_2: f32 = 0.58778524;

/** Transforms 120 samples in the first half of STEPS. The result is there too. */
export function transform120(): void {
  stepOf5(STEPS, STEPS + STEP_BYTES, 24, 1);
  stepOf4(STEPS + STEP_BYTES, STEPS, 6, 5);
  stepOf3(STEPS, STEPS + STEP_BYTES, 2, 20);
  stepOf2(STEPS + STEP_BYTES, STEPS, 60);
}

/** Transforms 60 samples in the first half of STEPS. The result is in the second. */
export function transform60(): void {
  stepOf5(STEPS, STEPS + STEP_BYTES, 12, 1);
  stepOf4(STEPS + STEP_BYTES, STEPS, 3, 5);
  stepOf3(STEPS, STEPS + STEP_BYTES, 1, 20);
}

/** Writes real and imaginary part, turned back by a root: a 120th of a turn times `index`. */
function storeTurned(to: usize, real: v128, imaginary: v128, index: usize): void {
  const cosine = v128.load32_splat(ROOTS + (index << 3));
  const sine = v128.load32_splat(ROOTS + (index << 3), 4);
  v128.store(to, f32x4.add(f32x4.mul(real, cosine), f32x4.mul(imaginary, sine)));
  v128.store(to, f32x4.sub(f32x4.mul(imaginary, cosine), f32x4.mul(real, sine)), 16);
}

/** `groups` times `stride` butterflies; the samples of one lie `groups * stride` apart. */
function stepOf5(from: usize, to: usize, groups: usize, stride: usize): void {
  const far: usize = groups * stride * SAMPLE;
  const near: usize = stride * SAMPLE;
  const rootStep: usize = 120 / (5 * groups);
  const c1 = f32x4.splat(COSINE_1);
  const c2 = f32x4.splat(COSINE_2);
  const s1 = f32x4.splat(SINE_1);
  const s2 = f32x4.splat(SINE_2);
  for (let group: usize = 0; group < groups; group++) {
    const root = group * rootStep;
    for (let offset: usize = 0; offset < stride; offset++) {
      const x = from + (group * stride + offset) * SAMPLE;
      const ar = v128.load(x);
      const ai = v128.load(x, 16);
      const br = v128.load(x + far);
      const bi = v128.load(x + far, 16);
      const cr = v128.load(x + 2 * far);
      const ci = v128.load(x + 2 * far, 16);
      const dr = v128.load(x + 3 * far);
      const di = v128.load(x + 3 * far, 16);
      const er = v128.load(x + 4 * far);
      const ei = v128.load(x + 4 * far, 16);
      const p1r = f32x4.add(br, er);
      const p1i = f32x4.add(bi, ei);
      const m1r = f32x4.sub(br, er);
      const m1i = f32x4.sub(bi, ei);
      const p2r = f32x4.add(cr, dr);
      const p2i = f32x4.add(ci, di);
      const m2r = f32x4.sub(cr, dr);
      const m2i = f32x4.sub(ci, di);
      const y = to + (group * 5 * stride + offset) * SAMPLE;
      v128.store(y, f32x4.add(ar, f32x4.add(p1r, p2r)));
      v128.store(y, f32x4.add(ai, f32x4.add(p1i, p2i)), 16);
      const u1r = f32x4.add(ar, f32x4.add(f32x4.mul(c1, p1r), f32x4.mul(c2, p2r)));
      const u1i = f32x4.add(ai, f32x4.add(f32x4.mul(c1, p1i), f32x4.mul(c2, p2i)));
      const u2r = f32x4.add(ar, f32x4.add(f32x4.mul(c2, p1r), f32x4.mul(c1, p2r)));
      const u2i = f32x4.add(ai, f32x4.add(f32x4.mul(c2, p1i), f32x4.mul(c1, p2i)));
      const v1r = f32x4.add(f32x4.mul(s1, m1r), f32x4.mul(s2, m2r));
      const v1i = f32x4.add(f32x4.mul(s1, m1i), f32x4.mul(s2, m2i));
      const v2r = f32x4.sub(f32x4.mul(s2, m1r), f32x4.mul(s1, m2r));
      const v2i = f32x4.sub(f32x4.mul(s2, m1i), f32x4.mul(s1, m2i));
      storeTurned(y + near, f32x4.add(u1r, v1i), f32x4.sub(u1i, v1r), root);
      storeTurned(y + 2 * near, f32x4.add(u2r, v2i), f32x4.sub(u2i, v2r), 2 * root);
      storeTurned(y + 3 * near, f32x4.sub(u2r, v2i), f32x4.add(u2i, v2r), 3 * root);
      storeTurned(y + 4 * near, f32x4.sub(u1r, v1i), f32x4.add(u1i, v1r), 4 * root);
    }
  }
}

function stepOf4(from: usize, to: usize, groups: usize, stride: usize): void {
  const far: usize = groups * stride * SAMPLE;
  const near: usize = stride * SAMPLE;
  const rootStep: usize = 120 / (4 * groups);
  for (let group: usize = 0; group < groups; group++) {
    const root = group * rootStep;
    for (let offset: usize = 0; offset < stride; offset++) {
      const x = from + (group * stride + offset) * SAMPLE;
      const ar = v128.load(x);
      const ai = v128.load(x, 16);
      const br = v128.load(x + far);
      const bi = v128.load(x + far, 16);
      const cr = v128.load(x + 2 * far);
      const ci = v128.load(x + 2 * far, 16);
      const dr = v128.load(x + 3 * far);
      const di = v128.load(x + 3 * far, 16);
      const pr = f32x4.add(ar, cr);
      const pi = f32x4.add(ai, ci);
      const mr = f32x4.sub(ar, cr);
      const mi = f32x4.sub(ai, ci);
      const qr = f32x4.add(br, dr);
      const qi = f32x4.add(bi, di);
      const nr = f32x4.sub(br, dr);
      const ni = f32x4.sub(bi, di);
      const y = to + (group * 4 * stride + offset) * SAMPLE;
      v128.store(y, f32x4.add(pr, qr));
      v128.store(y, f32x4.add(pi, qi), 16);
      storeTurned(y + near, f32x4.add(mr, ni), f32x4.sub(mi, nr), root);
      storeTurned(y + 2 * near, f32x4.sub(pr, qr), f32x4.sub(pi, qi), 2 * root);
      storeTurned(y + 3 * near, f32x4.sub(mr, ni), f32x4.add(mi, nr), 3 * root);
    }
  }
}

function stepOf3(from: usize, to: usize, groups: usize, stride: usize): void {
  const far: usize = groups * stride * SAMPLE;
  const near: usize = stride * SAMPLE;
  const rootStep: usize = 120 / (3 * groups);
  const half = f32x4.splat(0.5);
  const height = f32x4.splat(HALF_ROOT_3);
  for (let group: usize = 0; group < groups; group++) {
    const root = group * rootStep;
    for (let offset: usize = 0; offset < stride; offset++) {
      const x = from + (group * stride + offset) * SAMPLE;
      const ar = v128.load(x);
      const ai = v128.load(x, 16);
      const br = v128.load(x + far);
      const bi = v128.load(x + far, 16);
      const cr = v128.load(x + 2 * far);
      const ci = v128.load(x + 2 * far, 16);
      const pr = f32x4.add(br, cr);
      const pi = f32x4.add(bi, ci);
      const mr = f32x4.mul(height, f32x4.sub(br, cr));
      const mi = f32x4.mul(height, f32x4.sub(bi, ci));
      const ur = f32x4.sub(ar, f32x4.mul(half, pr));
      const ui = f32x4.sub(ai, f32x4.mul(half, pi));
      const y = to + (group * 3 * stride + offset) * SAMPLE;
      v128.store(y, f32x4.add(ar, pr));
      v128.store(y, f32x4.add(ai, pi), 16);
      storeTurned(y + near, f32x4.add(ur, mi), f32x4.sub(ui, mr), root);
      storeTurned(y + 2 * near, f32x4.sub(ur, mi), f32x4.add(ui, mr), 2 * root);
    }
  }
}

/** The last step: without rotations. */
function stepOf2(from: usize, to: usize, stride: usize): void {
  const far: usize = stride * SAMPLE;
  const end = from + far;
  do {
    const ar = v128.load(from);
    const ai = v128.load(from, 16);
    const br = v128.load(from + far);
    const bi = v128.load(from + far, 16);
    v128.store(to, f32x4.add(ar, br));
    v128.store(to, f32x4.add(ai, bi), 16);
    v128.store(to + far, f32x4.sub(ar, br));
    v128.store(to + far, f32x4.sub(ai, bi), 16);
    from += SAMPLE;
    to += SAMPLE;
  } while (from < end);
}
