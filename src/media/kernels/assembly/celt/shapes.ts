// Arithmetic with shapes: lists of floats of any length. AssemblyScript, part of the CELT decoder.

import { dot, floatAt } from "../../../../../opus-encoder/assembly/lists.ts";

/** Keeps the energy of silence from being 0. */
const NOTHING: f32 = 1e-15;

export function scale(shape: usize, length: i32, by: f32): void {
  scaleTo(shape, shape, length, by);
}

export function scaleTo(to: usize, from: usize, length: i32, by: f32): void {
  const factor = f32x4.splat(by);
  const end = from + (usize(length & ~3) << 2);
  while (from < end) {
    v128.store(to, f32x4.mul(factor, v128.load(from)));
    from += 16;
    to += 16;
  }
  const last = from + (usize(length & 3) << 2);
  while (from < last) {
    store<f32>(to, by * load<f32>(from));
    from += 4;
    to += 4;
  }
}

/** The sum of products. */
export function product(a: usize, b: usize, length: i32): f32 {
  const whole = length & ~3;
  let sum = dot(a, b, whole);
  for (let index = whole; index < length; index++) sum += floatAt(a, index) * floatAt(b, index);
  return sum;
}

/** Gives a shape this amplitude. */
export function normalise(shape: usize, length: i32, amplitude: f32): void {
  scale(shape, length, amplitude / Mathf.sqrt(NOTHING + product(shape, shape, length)));
}
