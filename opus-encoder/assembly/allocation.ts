// How the bits of a frame are shared among the bands (RFC 6716 section 4.3.3): the decoder computes the same, bit for
// bit, from the coded boosts and tilt. Three things are decided and coded here: which bands at the top get no pulses,
// from where on stereo is intensity only, and whether both channels are coded separately. All in eighths of bits.
// AssemblyScript.

import { capOf } from "./band-caps.ts";
import { shareBands } from "./band-shares.ts";
import { BANDS, BIT, bandWidth, edge, SHORT_BLOCKS_LOG } from "./format.ts";
import { intAt, setInt } from "./lists.ts";
import { BAND_SPARE, BANDS_BYTES, BOOSTS, PULSE_BITS } from "./memory-map.ts";
import { encodeBit, encodeNumber } from "./range-encoder.ts";

/** In 32nds of a bit per sample: eleven settings from nothing to plenty, for 21 bands. */
const SETTINGS: i32 = 11;
const SETTING_BITS = memory.data<u8>([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 90, 80, 75, 69, 63, 56, 49, 40, 34, 29, 20, 18, 10, 0,
  0, 0, 0, 0, 0, 0, 0, 110, 100, 90, 84, 78, 71, 65, 58, 51, 45, 39, 32, 26, 20, 12, 0, 0, 0, 0, 0, 0, 118, 110, 103,
  93, 86, 80, 75, 70, 65, 59, 53, 47, 40, 31, 23, 15, 4, 0, 0, 0, 0, 126, 119, 112, 104, 95, 89, 83, 78, 72, 66, 60, 54,
  47, 39, 32, 25, 17, 12, 1, 0, 0, 134, 127, 120, 114, 103, 97, 91, 85, 78, 72, 66, 60, 54, 47, 41, 35, 29, 23, 16, 10,
  1, 144, 137, 130, 124, 113, 107, 101, 95, 88, 82, 76, 70, 64, 57, 51, 45, 39, 33, 26, 15, 1, 152, 145, 138, 132, 123,
  117, 111, 105, 98, 92, 86, 80, 74, 67, 61, 55, 49, 43, 36, 20, 1, 162, 155, 148, 142, 133, 127, 121, 115, 108, 102,
  96, 90, 84, 77, 71, 65, 59, 53, 46, 30, 1, 172, 165, 158, 152, 143, 137, 131, 125, 118, 112, 106, 100, 94, 87, 81, 75,
  69, 63, 56, 45, 20, 200, 200, 200, 200, 200, 200, 200, 200, 198, 193, 188, 183, 178, 173, 168, 163, 158, 153, 148,
  129, 104,
]);
/** The cost of naming one of so many plus one bands. */
const NAMING_BITS = memory.data<u8>([
  0, 8, 13, 16, 19, 21, 23, 24, 26, 27, 28, 29, 30, 31, 32, 32, 33, 34, 34, 35, 36, 36, 37, 37,
]);
/** Binary logarithm of the number of steps between two settings. */
const STEPS_LOG: i32 = 6;
const ONE_BIT: i32 = 1 << BIT;

// Per band: the lower setting, what the upper has more, below which there are no pulses.
const LOWER: usize = BAND_SPARE;
const MORE: usize = LOWER + BANDS_BYTES;
const LEAST: usize = MORE + BANDS_BYTES;

// The decisions.
let codedBands: i32 = 0;
let intensityBand: i32 = 0;
let isDual: bool = false;
let balance: i32 = 0;

/** The bands that get pulses. */
export function codedBandsNow(): i32 {
  return codedBands;
}

/** From this band on stereo is intensity only. */
export function intensityBandNow(): i32 {
  return intensityBand;
}

export function isDualNow(): bool {
  return isDual;
}

/** Bits that no band could use. */
export function balanceNow(): i32 {
  return balance;
}

/**
 * Shares `bits` out to PULSE_BITS, FINE_BITS and FINE_PRIORITY. `trim` is the tilt (5: none); `intensity` and `dual`
 * are the requested values, `codedBefore` the bands that had pulses in the frame before.
 */
export function allocate(channels: i32, bits: i32, trim: i32, intensity: i32, dual: bool, codedBefore: i32): void {
  let total = max(0, bits);
  const skipBit = total >= ONE_BIT ? ONE_BIT : 0;
  total -= skipBit;
  let intensityBits = 0;
  let dualBits = 0;
  if (channels === 2) {
    const naming = i32(load<u8>(NAMING_BITS + usize(BANDS)));
    if (naming <= total) {
      intensityBits = naming;
      total -= naming;
      dualBits = total >= ONE_BIT ? ONE_BIT : 0;
      total -= dualBits;
    }
  }
  for (let band = 0; band < BANDS; band++) {
    setInt(LEAST, band, max(channels << BIT, (((3 * bandWidth(band)) << SHORT_BLOCKS_LOG) << BIT) >> 4));
  }
  const firstSkippable = chooseSettings(channels, total, trim);
  let spent = mixSettings(channels, total);

  // From the top down: bands are dropped, or one bit says that no more are.
  codedBands = BANDS;
  for (;;) {
    const band = codedBands - 1;
    if (band <= firstSkippable) {
      // The bit that would have ended this is not needed.
      total += skipBit;
      break;
    }
    const left = total - spent;
    const all = edge(codedBands);
    const each = left / all;
    const width = bandWidth(band);
    const rest = max(left - all * each - edge(band), 0);
    let bandBits = intAt(PULSE_BITS, band) + each * width + rest;
    if (bandBits >= max(intAt(LEAST, band), (channels << BIT) + ONE_BIT)) {
      const isRetained = isWorthCoding(band, bandBits, width, codedBefore);
      encodeBit(isRetained, 1);
      if (isRetained) break;
      spent += ONE_BIT;
      bandBits -= ONE_BIT;
    }
    spent -= intAt(PULSE_BITS, band) + intensityBits;
    if (intensityBits > 0) intensityBits = i32(load<u8>(NAMING_BITS + usize(band)));
    spent += intensityBits;
    // At least a bit of fine energy, if there is one.
    const retained = bandBits >= channels << BIT ? channels << BIT : 0;
    spent += retained;
    setInt(PULSE_BITS, band, retained);
    codedBands--;
  }

  intensityBand = 0;
  if (intensityBits > 0) {
    intensityBand = min(intensity, codedBands);
    encodeNumber(u32(intensityBand), u32(codedBands + 1));
  }
  if (intensityBand === 0) {
    total += dualBits;
    dualBits = 0;
  }
  isDual = dual && dualBits > 0;
  if (dualBits > 0) encodeBit(isDual, 1);

  spread(total - spent);
  balance = shareBands(channels, codedBands, intensityBand, isDual);
}

/** A free choice of the encoder: with some inertia, so that bands do not come and go. */
function isWorthCoding(band: i32, bits: i32, width: i32, codedBefore: i32): bool {
  if (band + 1 <= 2) return true;
  const depth = band + 1 > 17 ? (band < codedBefore ? 4 : 6) : 0;
  return bits > (((depth * width) << SHORT_BLOCKS_LOG) << BIT) >> 4;
}

/** The two settings between which the bits lie, to LOWER and MORE. Returns the last band that was boosted. */
function chooseSettings(channels: i32, total: i32, trim: i32): i32 {
  let low = 1;
  let high = SETTINGS - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    let isReached = false;
    let sum = 0;
    for (let band = BANDS - 1; band >= 0; band--) {
      const bits = settingBits(channels, middle, band, trim) + intAt(BOOSTS, band);
      if (bits >= intAt(LEAST, band) || isReached) {
        isReached = true;
        sum += min(bits, capOf(band, channels));
      } else if (bits >= channels << BIT) {
        sum += channels << BIT;
      }
    }
    if (sum > total) high = middle - 1;
    else low = middle + 1;
  }
  const upper = low;
  const lower = low - 1;
  let lastBoosted = 0;
  for (let band = 0; band < BANDS; band++) {
    const boost = intAt(BOOSTS, band);
    const under = settingBits(channels, lower, band, trim) + (lower > 0 ? boost : 0);
    const over =
      (upper >= SETTINGS
        ? tilted(capOf(band, channels), channels, band, trim)
        : settingBits(channels, upper, band, trim)) + boost;
    if (boost > 0) lastBoosted = band;
    setInt(LOWER, band, under);
    setInt(MORE, band, max(0, over - under));
  }
  return lastBoosted;
}

function settingBits(channels: i32, setting: i32, band: i32, trim: i32): i32 {
  const perSample = i32(load<u8>(SETTING_BITS + usize(setting * BANDS + band)));
  return tilted(((channels * bandWidth(band) * perSample) << SHORT_BLOCKS_LOG) >> 2, channels, band, trim);
}

function tilted(bits: i32, channels: i32, band: i32, trim: i32): i32 {
  if (bits <= 0) return bits;
  const tilt =
    (channels *
      bandWidth(band) *
      (trim - 5 - SHORT_BLOCKS_LOG) *
      (BANDS - band - 1) *
      (1 << (SHORT_BLOCKS_LOG + BIT))) >>
    6;
  return max(0, bits + tilt);
}

/** Writes the mixture of both settings that fits to PULSE_BITS. Returns its sum. */
function mixSettings(channels: i32, total: i32): i32 {
  let low = 0;
  let high = 1 << STEPS_LOG;
  for (let step = 0; step < STEPS_LOG; step++) {
    const middle = (low + high) >> 1;
    if (mix(channels, middle) > total) high = middle;
    else low = middle;
  }
  return mix(channels, low);
}

function mix(channels: i32, share: i32): i32 {
  let sum = 0;
  let isReached = false;
  for (let band = BANDS - 1; band >= 0; band--) {
    let bits = intAt(LOWER, band) + ((share * intAt(MORE, band)) >> STEPS_LOG);
    if (bits >= intAt(LEAST, band) || isReached) isReached = true;
    else bits = bits >= channels << BIT ? channels << BIT : 0;
    bits = min(bits, capOf(band, channels));
    setInt(PULSE_BITS, band, bits);
    sum += bits;
  }
  return sum;
}

/** Shares the remaining bits among all coded bands, by their width. */
function spread(left: i32): void {
  const all = edge(codedBands);
  const each = left / all;
  let rest = left - all * each;
  for (let band = 0; band < codedBands; band++) {
    const more = min(rest, bandWidth(band));
    setInt(PULSE_BITS, band, intAt(PULSE_BITS, band) + each * bandWidth(band) + more);
    rest -= more;
  }
}
