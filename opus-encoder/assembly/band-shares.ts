// The second half of the allocation: each band's bits are shared between fine energy and pulses, as the decoder
// computes it (RFC 6716 section 4.3.3). All in eighths of bits. AssemblyScript.

import { capOf } from "./band-caps.ts";
import { BANDS, BIT, bandWidth, FINE_BITS_MAX, SHORT_BLOCKS_LOG, widthLog } from "./format.ts";
import { intAt, setInt } from "./lists.ts";
import { FINE_BITS, FINE_PRIORITY, PULSE_BITS } from "./memory-map.ts";

/** Fine energy gets this much less per degree of freedom than pulses. */
const FINE_OFFSET: i32 = 21;

/** Takes fine bits out of PULSE_BITS. Returns the bits that no band could use. */
export function shareBands(channels: i32, codedBands: i32, intensityBand: i32, isDual: bool): i32 {
  let balance = 0;
  for (let band = 0; band < codedBands; band++) {
    const hasAngle = channels === 2 && !isDual && band < intensityBand;
    balance = shareBand(channels, band, hasAngle ? 1 : 0, balance);
  }
  // Bands without pulses use their bits for fine energy.
  for (let band = codedBands; band < BANDS; band++) {
    const fine = (intAt(PULSE_BITS, band) >> (channels - 1)) >> BIT;
    setInt(FINE_BITS, band, fine);
    setInt(PULSE_BITS, band, 0);
    setInt(FINE_PRIORITY, band, fine < 1 ? 1 : 0);
  }
  return balance;
}

/** `before`: bits from the bands below; returns the bits passed on to those above. */
function shareBand(channels: i32, band: i32, angles: i32, before: i32): i32 {
  const stereo = channels - 1;
  const offered = intAt(PULSE_BITS, band) + before;
  let excess = max(offered - capOf(band, channels), 0);
  const bits = offered - excess;
  const degrees = channels * (bandWidth(band) << SHORT_BLOCKS_LOG) + angles;
  const depth = degrees * (widthLog(band) + (SHORT_BLOCKS_LOG << BIT));
  let offset = (depth >> 1) - degrees * FINE_OFFSET;
  if (bits + offset < (degrees * 2) << BIT) offset += depth >> 2;
  else if (bits + offset < (degrees * 3) << BIT) offset += depth >> 3;
  let fine = (max(0, bits + offset + (degrees << (BIT - 1))) / degrees) >> BIT;
  if (channels * fine > bits >> BIT) fine = (bits >> stereo) >> BIT;
  fine = min(fine, FINE_BITS_MAX);
  let priority = fine * (degrees << BIT) >= bits + offset;
  setInt(PULSE_BITS, band, bits - ((channels * fine) << BIT));
  if (excess > 0) {
    const more = min(excess >> (stereo + BIT), FINE_BITS_MAX - fine);
    fine += more;
    const moreBits = (more * channels) << BIT;
    priority = moreBits >= excess - before;
    excess -= moreBits;
  }
  setInt(FINE_BITS, band, fine);
  setInt(FINE_PRIORITY, band, priority ? 1 : 0);
  return excess;
}
