// The range of the range coder (RFC 6716 section 4.1), and how many bits it holds. AssemblyScript.

import { bitLength } from "./approximations.ts";

export const RANGE_TOP: u32 = 0x80000000;
/** A range no larger than this takes up another byte. */
export const RANGE_BOTTOM: u32 = 0x00800000;
/** Where eighths of a bit end, within the leading 16 bits of the range. */
const EIGHTHS = memory.data<u32>([35733, 38967, 42495, 46340, 50535, 55109, 60097, 65535]);

/** The binary logarithm of a range in eighths, rounded down. */
export function eighthsOf(range: u32): i32 {
  const length = bitLength(range);
  const leading = range >> u32(length - 16);
  let part = (leading >> 12) - 8;
  part += u32(leading > load<u32>(EIGHTHS + (part << 2)));
  return (length << 3) + i32(part);
}
