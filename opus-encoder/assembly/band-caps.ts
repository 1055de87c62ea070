// The most bits that a band can use, and the steps of boosts (RFC 6716 section 4.3.3). AssemblyScript.

import { BANDS, BIT, bandWidth } from "./format.ts";

/**
 * The most a band can use, in quarters of eighths of bits per sample, less 64: for each frame size, of one channel, then
 * of two.
 */
const CAPS = memory.data<u8>([
  224, 224, 224, 224, 224, 224, 224, 224, 160, 160, 160, 160, 185, 185, 185, 178, 178, 168, 134, 61, 37, 224, 224, 224,
  224, 224, 224, 224, 224, 240, 240, 240, 240, 207, 207, 207, 198, 198, 183, 144, 66, 40, 160, 160, 160, 160, 160, 160,
  160, 160, 185, 185, 185, 185, 193, 193, 193, 183, 183, 172, 138, 64, 38, 240, 240, 240, 240, 240, 240, 240, 240, 207,
  207, 207, 207, 204, 204, 204, 193, 193, 180, 143, 66, 40, 185, 185, 185, 185, 185, 185, 185, 185, 193, 193, 193, 193,
  193, 193, 193, 183, 183, 172, 138, 65, 39, 207, 207, 207, 207, 207, 207, 207, 207, 204, 204, 204, 204, 201, 201, 201,
  188, 188, 176, 141, 66, 40, 193, 193, 193, 193, 193, 193, 193, 193, 193, 193, 193, 193, 194, 194, 194, 184, 184, 173,
  139, 65, 39, 204, 204, 204, 204, 204, 204, 204, 204, 201, 201, 201, 201, 198, 198, 198, 187, 187, 175, 140, 66, 40,
]);

/** The most that a band can use. */
export function capOf(band: i32, channels: i32, sizeLog: i32): i32 {
  const cap = i32(load<u8>(CAPS + usize((2 * sizeLog + channels - 1) * BANDS + band)));
  return ((cap + 64) * channels * (bandWidth(band) << sizeLog)) >> 2;
}

/** The step of a boost of so many samples: six bits, but no more than one and no less than an eighth of one per sample. */
export function boostStep(samples: i32): i32 {
  return min(samples << BIT, max(6 << BIT, samples));
}
