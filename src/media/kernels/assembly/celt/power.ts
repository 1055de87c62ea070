// Powers of two. AssemblyScript, part of the CELT decoder.

const EXPONENT_MIN: f32 = -126;
const EXPONENT_MAX: f32 = 126;

/**
 * 2 to the power of each of four numbers, exact to 1e-7 of the result. Numbers below -126 count as -126, those above 126
 * as 126.
 */
export function powersOf2(values: v128): v128 {
  const bounded = f32x4.max(f32x4.splat(EXPONENT_MIN), f32x4.min(f32x4.splat(EXPONENT_MAX), values));
  const whole = f32x4.nearest(bounded);
  const x = f32x4.mul(f32x4.sub(bounded, whole), f32x4.splat(f32(Math.LN2)));
  let series = f32x4.splat(1.0 / 5040.0);
  series = f32x4.add(f32x4.splat(1.0 / 720.0), f32x4.mul(x, series));
  series = f32x4.add(f32x4.splat(1.0 / 120.0), f32x4.mul(x, series));
  series = f32x4.add(f32x4.splat(1.0 / 24.0), f32x4.mul(x, series));
  series = f32x4.add(f32x4.splat(1.0 / 6.0), f32x4.mul(x, series));
  series = f32x4.add(f32x4.splat(0.5), f32x4.mul(x, series));
  series = f32x4.add(f32x4.splat(1), f32x4.mul(x, series));
  series = f32x4.add(f32x4.splat(1), f32x4.mul(x, series));
  const exponents = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(whole), i32x4.splat(127)), 23);
  return f32x4.mul(series, exponents);
}

export function powerOf2(value: f32): f32 {
  return f32x4.extract_lane(powersOf2(f32x4.splat(value)), 0);
}
