// The taps of the pitch filter (RFC 6716 section 4.3.7.1). AssemblyScript.

import { F32_BYTES } from "../src/numbers.ts";

/** Step size of coded gains, of which there are eight. */
export const GAIN_STEP: f32 = 0.09375;
/** Three sets of taps, each the middle one and two to either side. */
const TAPS = memory.data<f32>([
  0.30664062, 0.21704102, 0.12963867, 0.46386719, 0.26806641, 0, 0.79980469, 0.10009766, 0,
]);

/** The part of four samples that comes from one period before. */
export function repeated(at: usize, lag: i32, gain: f32, taps: i32): v128 {
  const list = TAPS + usize(taps) * 12;
  const address = at - F32_BYTES * usize(lag);
  const near = f32x4.add(v128.load(address - F32_BYTES), v128.load(address + F32_BYTES));
  const far = f32x4.add(v128.load(address - 2 * F32_BYTES), v128.load(address + 2 * F32_BYTES));
  const middle = f32x4.mul(f32x4.splat(gain * load<f32>(list)), v128.load(address));
  const sides = f32x4.mul(f32x4.splat(gain * load<f32>(list, 4)), near);
  return f32x4.add(f32x4.add(middle, sides), f32x4.mul(f32x4.splat(gain * load<f32>(list, 8)), far));
}
