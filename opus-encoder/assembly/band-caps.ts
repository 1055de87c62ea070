// The most bits that a band can use (RFC 6716 section 4.3.3). AssemblyScript.

import { BANDS, bandWidth, SHORT_BLOCKS_LOG } from "./format.ts";

/** The most a band of one channel, and of two, can use, in quarters of eighths of bits per sample, less 64. */
const CAPS = memory.data<u8>([
  193, 193, 193, 193, 193, 193, 193, 193, 193, 193, 193, 193, 194, 194, 194, 184, 184, 173, 139, 65, 39, 204, 204, 204,
  204, 204, 204, 204, 204, 201, 201, 201, 201, 198, 198, 198, 187, 187, 175, 140, 66, 40,
]);

/** The most that a band can use. */
export function capOf(band: i32, channels: i32): i32 {
  const cap = i32(load<u8>(CAPS + usize((channels - 1) * BANDS + band)));
  return ((cap + 64) * channels * (bandWidth(band) << SHORT_BLOCKS_LOG)) >> 2;
}
