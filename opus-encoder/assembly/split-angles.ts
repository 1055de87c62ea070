// Angles between two halves of a shape, or between middle and side of two channels (RFC 6716 section 4.3.4.4): their
// resolution, and what they mean for the bits of both. AssemblyScript.

import { exactCosine, exactLogTangent, exactProduct } from "./approximations.ts";
import { BIT } from "./format.ts";

/** Unit of angles: a quarter turn has this many. */
export const QUARTER: i32 = 16384;
/** How much less an angle gets than a sample, in eighths of bits. */
export const ANGLE_OFFSET: i32 = 4;
/** Eighths of a binary logarithm, as powers. */
const POWERS = memory.data<u16>([16384, 17866, 19483, 21247, 23170, 25267, 27554, 30048]);

/** The number of steps that divide a quarter turn; 1 is none. */
export function angleSteps(degrees: i32, bits: i32, offset: i32, pulseCap: i32): i32 {
  const fair = (bits + degrees * offset) / degrees;
  const limited = min(8 << BIT, min(bits - pulseCap - (4 << BIT), fair));
  if (limited < (1 << BIT) >> 1) return 1;
  const power = i32(load<u16>(POWERS + (usize(limited & 7) << 1))) >> (14 - (limited >> BIT));
  return ((power + 1) >> 1) << 1;
}

/** How many more bits the first of both gets, of `length` samples each, than the second. */
export function deltaOf(angle: i32, length: i32): i32 {
  if (angle === 0) return -QUARTER;
  if (angle === QUARTER) return QUARTER;
  return deltaBetween(exactCosine(angle), exactCosine(QUARTER - angle), length);
}

/** The same, from the cosine and the sine of an angle that is neither 0 nor a quarter. */
export function deltaBetween(cosine: i32, sine: i32, length: i32): i32 {
  return exactProduct((length - 1) << 7, exactLogTangent(sine, cosine));
}
