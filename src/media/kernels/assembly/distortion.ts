// The inner loops of the distortion: compute the table of a curve, and map audio through it, four samples at a time.
// AssemblyScript; the plain loops are in ../distortion-kernel.ts, the memory in ../numbers/distortion.ts. Audio thread.

import { F32_BYTES, F64_BYTES, VECTOR_BYTES } from "../numbers/block.ts";
import {
  CURVE_ANGLES,
  CURVE_COS_OFFSET,
  CURVE_OFFSET,
  CURVE_SCALE,
  CURVE_SIN_OFFSET,
  CURVE_STEPS,
  CURVE_TAN_OFFSET,
  DISTORTION_LEFT,
  DISTORTION_RIGHT,
  DISTORTION_TABLE,
  ROW_VALUE_MAX,
} from "../numbers/distortion.ts";

/** Offset of an angle's cosine behind its sine. */
const COSINE = F64_BYTES;
const ANGLE_BYTES = 2 * F64_BYTES;
/** Adding it moves whole numbers into the low bits of a float. */
const WHOLE: f32 = 8388608;

/**
 * Writes `count` rows (1 at least) from number `row` on. Values are limited to ROW_VALUE_MAX; beyond full scale they
 * are clipped when read.
 */
export function fill(row: u32, count: u32): void {
  let at: usize = F32_BYTES * row;
  const end = at + F32_BYTES * count;
  do {
    const sine = load<f64>(CURVE_SIN_OFFSET) + load<f64>(CURVE_ANGLES);
    const cosine = load<f64>(CURVE_COS_OFFSET) + load<f64>(CURVE_ANGLES + ANGLE_BYTES + COSINE);
    const tangentAngle: usize = CURVE_ANGLES + 2 * ANGLE_BYTES;
    const tangent = load<f64>(CURVE_TAN_OFFSET) + load<f64>(tangentAngle) / load<f64>(tangentAngle + COSINE);
    let value = load<f64>(CURVE_OFFSET) + load<f64>(CURVE_SCALE) * (sine * cosine * tangent);
    // NaN (0 times infinity) becomes 0.
    value = select<f64>(value, 0, f64.eq(value, value));
    store<f32>(at, f32(max<f64>(-ROW_VALUE_MAX, min<f64>(ROW_VALUE_MAX, value))), DISTORTION_TABLE);
    turn();
    at += F32_BYTES;
  } while (at < end);
}

/** Turns the three angles by their steps. */
function turn(): void {
  const end: usize = CURVE_STEPS;
  let angle: usize = CURVE_ANGLES;
  do {
    const sine = load<f64>(angle);
    const cosine = load<f64>(angle, COSINE);
    const stepSine = load<f64>(angle, CURVE_STEPS);
    const stepCosine = load<f64>(angle, CURVE_STEPS + COSINE);
    store<f64>(angle, sine * stepCosine + cosine * stepSine);
    store<f64>(angle, cosine * stepCosine - sine * stepSine, COSINE);
    angle += ANGLE_BYTES;
  } while (angle < end);
}

/**
 * The largest second difference of the first `rows` rows (a multiple of 4, and two more): eight times the error of
 * reading between rows. Where three rows lie beyond the same full scale, it does not matter.
 */
export function bend(rows: u32): f32 {
  const end: usize = F32_BYTES * rows;
  let at: usize = 0;
  let largest = f32x4.splat(0);
  do {
    const a = v128.load(at, DISTORTION_TABLE);
    const b = v128.load(at, DISTORTION_TABLE + F32_BYTES);
    const c = v128.load(at, DISTORTION_TABLE + 2 * F32_BYTES);
    const isSeen = v128.and(
      f32x4.lt(f32x4.pmin(f32x4.pmin(a, b), c), f32x4.splat(1)),
      f32x4.gt(f32x4.pmax(f32x4.pmax(a, b), c), f32x4.splat(-1)),
    );
    const difference = f32x4.abs(f32x4.sub(f32x4.add(a, c), f32x4.add(b, b)));
    largest = f32x4.pmax(largest, v128.and(isSeen, difference));
    at += VECTOR_BYTES;
  } while (at < end);
  largest = f32x4.pmax(largest, f64x2.shuffle(largest, largest, 1, 0));
  return max<f32>(f32x4.extract_lane(largest, 0), f32x4.extract_lane(largest, 1));
}

/**
 * Changes the first `count` samples of both sides (rounded up to a multiple of 4) in place. `middle` is the row of 0.
 */
export function shape(count: u32, middle: f32): void {
  if (count === 0) return;
  shapeSide(DISTORTION_LEFT, count, middle);
  shapeSide(DISTORTION_RIGHT, count, middle);
}

function shapeSide(from: usize, count: u32, middle: f32): void {
  const scale = f32x4.splat(middle);
  const end = from + F32_BYTES * count;
  let at = from;
  do {
    const position = f32x4.mul(f32x4.add(cut(v128.load(at)), f32x4.splat(1)), scale);
    const whole = f32x4.floor(position);
    const part = f32x4.sub(position, whole);
    // The row numbers times four are offsets in the table.
    const row = i32x4.shl(i32x4.sub(f32x4.add(whole, f32x4.splat(WHOLE)), f32x4.splat(WHOLE)), 2);
    // Each row with the next one.
    let ab = v128.load64_zero(i32x4.extract_lane(row, 0), DISTORTION_TABLE);
    ab = v128.load64_lane(i32x4.extract_lane(row, 1), ab, 1, DISTORTION_TABLE);
    let cd = v128.load64_zero(i32x4.extract_lane(row, 2), DISTORTION_TABLE);
    cd = v128.load64_lane(i32x4.extract_lane(row, 3), cd, 1, DISTORTION_TABLE);
    const here = f32x4.shuffle(ab, cd, 0, 2, 4, 6);
    const next = f32x4.shuffle(ab, cd, 1, 3, 5, 7);
    v128.store(at, cut(f32x4.add(here, f32x4.mul(part, f32x4.sub(next, here)))));
    at += VECTOR_BYTES;
  } while (at < end);
}

/** Clips to full scale. */
function cut(x: v128): v128 {
  return f32x4.pmin(f32x4.splat(1), f32x4.pmax(f32x4.splat(-1), x));
}
