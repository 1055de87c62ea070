// Evens out the spectrum of the audio for the period search, so that the search follows all partials of a tone and not
// only the loudest: removes, cautiously, the part that the four samples before predict. AssemblyScript.

import { F32_BYTES, VECTOR_BYTES } from "../src/numbers.ts";
import { dot, floatAt, setFloat } from "./lists.ts";
import { BAND_SPARE } from "./memory-map.ts";

const ORDER: i32 = 4;
/** Samples at the beginning that do not have enough before them. */
const EDGE_SAMPLES: i32 = 8;
/** A little noise below everything, and a window over the lags, keep the filter stable. */
const NOISE: f32 = 0.0001;
const LAG_WINDOW: f32 = 0.000064;
const CAUTION: f32 = 0.9;
/** A zero that takes the edge off the highest frequencies. */
const ZERO: f32 = 0.8;
/** When less than this share of the energy is left, prediction stops. */
const LEAST_ERROR: f32 = 0.001;

const PRODUCTS: usize = BAND_SPARE;
const FACTORS: usize = PRODUCTS + 2 * VECTOR_BYTES;
const FACTORS_BEFORE: usize = FACTORS + VECTOR_BYTES;

/** Whitens `count` samples, a multiple of four, in place. */
export function whiten(audio: usize, count: i32): void {
  const from = audio + F32_BYTES * usize(EDGE_SAMPLES);
  for (let lag = 0; lag <= ORDER; lag++) {
    const product = dot(from, from - F32_BYTES * usize(lag), count - EDGE_SAMPLES);
    setFloat(PRODUCTS, lag, lag === 0 ? 1 + product * (1 + NOISE) : product * (1 - LAG_WINDOW * f32(lag * lag)));
  }
  predict();
  const last = from + F32_BYTES * usize(count - EDGE_SAMPLES) - VECTOR_BYTES;
  filter(from, last);
  memory.fill(audio, 0, F32_BYTES * usize(EDGE_SAMPLES));
}

/** From PRODUCTS to FACTORS, the weights of the samples before (Levinson-Durbin recursion). */
function predict(): void {
  memory.fill(FACTORS, 0, VECTOR_BYTES);
  let error = floatAt(PRODUCTS, 0);
  for (let order = 0; order < ORDER && error > LEAST_ERROR * floatAt(PRODUCTS, 0); order++) {
    let sum = floatAt(PRODUCTS, order + 1);
    for (let index = 0; index < order; index++) sum += floatAt(FACTORS, index) * floatAt(PRODUCTS, order - index);
    const reflection = -sum / error;
    memory.copy(FACTORS_BEFORE, FACTORS, VECTOR_BYTES);
    for (let index = 0; index < order; index++) {
      const mirrored = floatAt(FACTORS_BEFORE, order - 1 - index);
      setFloat(FACTORS, index, floatAt(FACTORS_BEFORE, index) + reflection * mirrored);
    }
    setFloat(FACTORS, order, reflection);
    error *= 1 - reflection * reflection;
  }
  let share: f32 = 1;
  for (let order = 0; order < ORDER; order++) {
    share *= CAUTION;
    setFloat(FACTORS, order, floatAt(FACTORS, order) * share);
  }
}

/** Runs from the end, as each sample is computed from those before it. */
function filter(from: usize, last: usize): void {
  const first = f32x4.splat(floatAt(FACTORS, 0) + ZERO);
  const second = f32x4.splat(floatAt(FACTORS, 1) + ZERO * floatAt(FACTORS, 0));
  const third = f32x4.splat(floatAt(FACTORS, 2) + ZERO * floatAt(FACTORS, 1));
  const fourth = f32x4.splat(floatAt(FACTORS, 3) + ZERO * floatAt(FACTORS, 2));
  const fifth = f32x4.splat(ZERO * floatAt(FACTORS, 3));
  for (let at = last; at >= from; at -= VECTOR_BYTES) {
    const near = f32x4.add(
      f32x4.mul(first, v128.load(at - F32_BYTES)),
      f32x4.mul(second, v128.load(at - 2 * F32_BYTES)),
    );
    const far = f32x4.add(
      f32x4.mul(third, v128.load(at - 3 * F32_BYTES)),
      f32x4.mul(fourth, v128.load(at - 4 * F32_BYTES)),
    );
    const farthest = f32x4.mul(fifth, v128.load(at - 5 * F32_BYTES));
    v128.store(at, f32x4.add(v128.load(at), f32x4.add(near, f32x4.add(far, farthest))));
  }
}
