// Powers of two. AssemblyScript, part of the CELT decoder.

const EXPONENT_MIN: f32 = -126;
const EXPONENT_MAX: f32 = 126;

/** 2 to the power of a number, exact to 1e-7 of the result. Numbers below -126 count as -126, those above 126 as 126. */
export function powerOf2(value: f32): f32 {
  const bounded = max(EXPONENT_MIN, min(EXPONENT_MAX, value));
  const whole = Mathf.floor(bounded);
  const x = f64(bounded - whole) * Math.LN2;
  const high = 1 / 24.0 + x * (1 / 120.0 + x * (1 / 720.0 + x * (1 / 5040.0 + x * (1 / 40320.0 + x / 362880.0))));
  const series = 1 + x * (1 + x * (0.5 + x * (1 / 6.0 + x * high)));
  return f32(series) * reinterpret<f32>(u32(i32(whole) + 127) << 23);
}
