// The encoder's decisions within the allocation (RFC 6716 section 4.3.3): which bands at the top are worth pulses, and the
// coding of both ways of stereo. AssemblyScript.

import {
  bandToDecide,
  beginAllocation,
  codedBandsNow,
  finishAllocation,
  namesIntensity,
  setIntensity,
  skipBand,
  topBandBits,
} from "./allocation.ts";
import { BANDS, BIT, bandWidth, SHORT_BLOCKS_LOG } from "./format.ts";
import { encodeBit, encodeNumber } from "./range-encoder.ts";

/**
 * Shares `bits` out to PULSE_BITS, FINE_BITS and FINE_PRIORITY. `trim` is the tilt (5: none); `intensity` and `dual`
 * are the requested values, `codedBefore` the bands that had pulses in the frame before.
 */
export function allocate(channels: i32, bits: i32, trim: i32, intensity: i32, dual: bool, codedBefore: i32): void {
  beginAllocation(channels, SHORT_BLOCKS_LOG, BANDS, bits, trim);
  for (let band = bandToDecide(); band >= 0; band = bandToDecide()) {
    const isRetained = isWorthCoding(band, topBandBits(), codedBefore);
    encodeBit(isRetained, 1);
    if (isRetained) break;
    skipBand();
  }
  let intensityBand = 0;
  if (namesIntensity()) {
    intensityBand = min(intensity, codedBandsNow());
    encodeNumber(u32(intensityBand), u32(codedBandsNow() + 1));
  }
  const isDualCoded = setIntensity(intensityBand);
  if (isDualCoded) encodeBit(dual, 1);
  finishAllocation(dual && isDualCoded);
}

/** A free choice of the encoder: with some inertia, so that bands do not come and go. */
function isWorthCoding(band: i32, bits: i32, codedBefore: i32): bool {
  if (band + 1 <= 2) return true;
  const depth = band + 1 > 17 ? (band < codedBefore ? 4 : 6) : 0;
  return bits > (((depth * bandWidth(band)) << SHORT_BLOCKS_LOG) << BIT) >> 4;
}
