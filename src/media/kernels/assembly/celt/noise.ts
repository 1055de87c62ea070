// What bands without pulses are filled with: noise, or a copy of lower bands (RFC 6716 section 4.3.4.4). AssemblyScript,
// part of the CELT decoder.

import { normalise } from "./shapes.ts";

/** 48 dB softer than what is copied. */
const DITHER: f32 = 1.0 / 256.0;

/** The linear congruential generator: its state, its factor and its summand, and those of one, two, three and four steps. */
let seed: u32 = 0;
const FACTOR: u32 = 1664525;
const SUMMAND: u32 = 1013904223;
const FACTOR_2: u32 = FACTOR * FACTOR;
const SUMMAND_2: u32 = FACTOR * SUMMAND + SUMMAND;
const FACTOR_3: u32 = FACTOR_2 * FACTOR;
const SUMMAND_3: u32 = FACTOR * SUMMAND_2 + SUMMAND;
const FACTOR_4: u32 = FACTOR_3 * FACTOR;
const SUMMAND_4: u32 = FACTOR * SUMMAND_3 + SUMMAND;

export function setSeed(value: u32): void {
  seed = value;
}

export function random(): u32 {
  seed = seed * FACTOR + SUMMAND;
  return seed;
}

/** The next four numbers of the generator, which then is to be set to the last one that is used. */
function nextFour(): v128 {
  const factors = i32x4(i32(FACTOR), i32(FACTOR_2), i32(FACTOR_3), i32(FACTOR_4));
  const summands = i32x4(i32(SUMMAND), i32(SUMMAND_2), i32(SUMMAND_3), i32(SUMMAND_4));
  return i32x4.add(i32x4.mul(i32x4.splat(i32(seed)), factors), summands);
}

/** Each four numbers further. */
function fourFurther(numbers: v128): v128 {
  return i32x4.add(i32x4.mul(numbers, i32x4.splat(i32(FACTOR_4))), i32x4.splat(i32(SUMMAND_4)));
}

export function fillWithNoise(shape: usize, length: i32, amplitude: f32): void {
  const whole = shape + (usize(length & ~3) << 2);
  let to = shape;
  if (to < whole) {
    let numbers = nextFour();
    for (;;) {
      v128.store(to, f32x4.convert_i32x4_s(i32x4.shr_s(numbers, 20)));
      to += 16;
      if (to >= whole) break;
      numbers = fourFurther(numbers);
    }
    seed = u32(i32x4.extract_lane(numbers, 3));
  }
  for (const end = shape + (usize(length) << 2); to < end; to += 4) store<f32>(to, f32(i32(random()) >> 20));
  normalise(shape, length, amplitude);
}

export function fillFrom(source: usize, shape: usize, length: i32, amplitude: f32): void {
  const whole = shape + (usize(length & ~3) << 2);
  const dither = f32x4.splat(-DITHER);
  const highest = i32x4.splat(i32.MIN_VALUE);
  let to = shape;
  if (to < whole) {
    let numbers = nextFour();
    for (;;) {
      // Bit 15 makes it positive.
      const sign = v128.and(i32x4.shl(numbers, 16), highest);
      v128.store(to, f32x4.add(v128.load(source), v128.xor(dither, sign)));
      to += 16;
      source += 16;
      if (to >= whole) break;
      numbers = fourFurther(numbers);
    }
    seed = u32(i32x4.extract_lane(numbers, 3));
  }
  for (const end = shape + (usize(length) << 2); to < end; to += 4) {
    store<f32>(to, load<f32>(source) + ((random() & 0x8000) !== 0 ? DITHER : -DITHER));
    source += 4;
  }
  normalise(shape, length, amplitude);
}
