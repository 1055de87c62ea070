// The second half of the allocation: each band's bits are shared between fine energy and pulses, as the decoder
// computes it (RFC 6716 section 4.3.3). All in eighths of bits. AssemblyScript.

import { capOf } from "./band-caps.ts";
import { BIT, bandWidth, FINE_BITS_MAX, widthLog } from "./format.ts";
import { intAt, setInt } from "./lists.ts";
import { FINE_BITS, FINE_PRIORITY, PULSE_BITS } from "./memory-map.ts";

/** Fine energy gets this much less per degree of freedom than pulses. */
const FINE_OFFSET: i32 = 21;

/**
 * Takes fine bits out of PULSE_BITS of `bands` bands. `withAngle`: bands below are coded as middle and side. Returns the
 * bits that no band could use.
 */
export function shareBands(channels: i32, sizeLog: i32, bands: i32, codedBands: i32, withAngle: i32): i32 {
  let balance = 0;
  for (let band = 0; band < codedBands; band++) {
    const samples = bandWidth(band) << sizeLog;
    if (samples === 1) balance = shareOneSample(channels, band, balance);
    else balance = shareBand(channels, sizeLog, band, samples > 2 && band < withAngle ? 1 : 0, balance);
  }
  // Bands without pulses use their bits for fine energy.
  for (let band = codedBands; band < bands; band++) {
    const fine = (intAt(PULSE_BITS, band) >> (channels - 1)) >> BIT;
    setInt(FINE_BITS, band, fine);
    setInt(PULSE_BITS, band, 0);
    setInt(FINE_PRIORITY, band, fine < 1 ? 1 : 0);
  }
  return balance;
}

/** `before`: bits from the bands below; returns the bits passed on to those above. */
function shareBand(channels: i32, sizeLog: i32, band: i32, angles: i32, before: i32): i32 {
  const samples = bandWidth(band) << sizeLog;
  const offered = intAt(PULSE_BITS, band) + before;
  const excess = max(offered - capOf(band, channels, sizeLog), 0);
  const bits = offered - excess;
  const degrees = channels * samples + angles;
  const depth = degrees * (widthLog(band) + (sizeLog << BIT));
  let offset = (depth >> 1) - degrees * FINE_OFFSET;
  if (samples === 2) offset += (degrees << BIT) >> 2;
  if (bits + offset < (degrees * 2) << BIT) offset += depth >> 2;
  else if (bits + offset < (degrees * 3) << BIT) offset += depth >> 3;
  let fine = (max(0, bits + offset + (degrees << (BIT - 1))) / degrees) >> BIT;
  if (channels * fine > bits >> BIT) fine = (bits >> (channels - 1)) >> BIT;
  fine = min(fine, FINE_BITS_MAX);
  setInt(PULSE_BITS, band, bits - ((channels * fine) << BIT));
  setInt(FINE_BITS, band, fine);
  setInt(FINE_PRIORITY, band, fine * (degrees << BIT) >= bits + offset ? 1 : 0);
  return refine(channels, band, excess, before);
}

/** One sample has no shape but its sign; all else is fine energy. */
function shareOneSample(channels: i32, band: i32, before: i32): i32 {
  const offered = intAt(PULSE_BITS, band) + before;
  const excess = max(offered - (channels << BIT), 0);
  setInt(PULSE_BITS, band, offered - excess);
  setInt(FINE_BITS, band, 0);
  setInt(FINE_PRIORITY, band, 1);
  return refine(channels, band, excess, before);
}

/** Uses what exceeds the band's pulses for more fine energy; returns the rest. */
function refine(channels: i32, band: i32, excess: i32, before: i32): i32 {
  if (excess === 0) return 0;
  const fine = intAt(FINE_BITS, band);
  const more = min(excess >> (channels - 1 + BIT), FINE_BITS_MAX - fine);
  const bits = (more * channels) << BIT;
  setInt(FINE_BITS, band, fine + more);
  setInt(FINE_PRIORITY, band, bits >= excess - before ? 1 : 0);
  return excess - bits;
}
