// How the bits of a frame are shared among the bands (RFC 6716 section 4.3.3), from the coded boosts and tilt: the same,
// bit for bit, in encoder and decoder. Three decisions are left to its caller, who codes them: which bands at the top get
// no pulses, from where on stereo is intensity only, and whether both channels are coded separately. All in eighths of
// bits. AssemblyScript.

import { capOf } from "./band-caps.ts";
import { shareBands } from "./band-shares.ts";
import { BANDS, BIT, bandWidth, edge } from "./format.ts";
import { intAt, setInt } from "./lists.ts";
import { BAND_SPARE, BANDS_BYTES, BOOSTS, PULSE_BITS } from "./memory-map.ts";

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
// Per band: the most it can use, its samples, and how many more bits than a setting's it gets.
const CAPS: usize = LEAST + BANDS_BYTES;
const SAMPLES: usize = CAPS + BANDS_BYTES;
const TILTS: usize = SAMPLES + BANDS_BYTES;

// The frame: its channels, the binary logarithm of its length in short blocks, its bands, and how its bits are tilted.
let channels: i32 = 0;
let sizeLog: i32 = 0;
let bands: i32 = 0;
let trim: i32 = 0;
// The state of the allocation.
let total: i32 = 0;
let spent: i32 = 0;
let skipBit: i32 = 0;
let intensityBits: i32 = 0;
let dualBits: i32 = 0;
let lowestSkippable: i32 = 0;
let codedBands: i32 = 0;
/** Of the band at the top, if it gets pulses. */
let topBits: i32 = 0;
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

/** Bits that the band at the top gets if it is not skipped. */
export function topBandBits(): i32 {
  return topBits;
}

/** Begins to share `bits` among the lowest `bandsOfFrame` bands; `tilt` is 5 for none. */
export function beginAllocation(
  channelsOfFrame: i32,
  sizeLogOfFrame: i32,
  bandsOfFrame: i32,
  bits: i32,
  tilt: i32,
): void {
  channels = channelsOfFrame;
  sizeLog = sizeLogOfFrame;
  bands = bandsOfFrame;
  trim = tilt;
  total = max(0, bits);
  skipBit = total >= ONE_BIT ? ONE_BIT : 0;
  total -= skipBit;
  intensityBits = 0;
  dualBits = 0;
  if (channels === 2) {
    const naming = i32(load<u8>(NAMING_BITS + usize(bands)));
    if (naming <= total) {
      intensityBits = naming;
      total -= naming;
      dualBits = total >= ONE_BIT ? ONE_BIT : 0;
      total -= dualBits;
    }
  }
  for (let band = 0; band < bands; band++) {
    setInt(LEAST, band, max(channels << BIT, (((3 * bandWidth(band)) << sizeLog) << BIT) >> 4));
    setInt(CAPS, band, capOf(band, channels, sizeLog));
    setInt(SAMPLES, band, channels * bandWidth(band));
    setInt(TILTS, band, tiltOf(band));
  }
  lowestSkippable = chooseSettings();
  spent = mixSettings();
  codedBands = bands;
}

/**
 * From the top down, skips the bands that get too few bits. Returns the first band of which one coded bit has to say
 * whether it is kept, which ends this, or skipped (`skipBand`); -1 when no such bit is left to code.
 */
export function bandToDecide(): i32 {
  while (codedBands - 1 > lowestSkippable) {
    const band = codedBands - 1;
    const left = total - spent;
    const all = edge(codedBands);
    const each = left / all;
    const width = bandWidth(band);
    const rest = max(left - all * each - edge(band), 0);
    topBits = intAt(PULSE_BITS, band) + each * width + rest;
    if (topBits >= max(intAt(LEAST, band), (channels << BIT) + ONE_BIT)) return band;
    dropTopBand();
  }
  // The bit that would have ended this is not needed.
  total += skipBit;
  return -1;
}

/** The band to decide is skipped, which takes one bit. */
export function skipBand(): void {
  spent += ONE_BIT;
  topBits -= ONE_BIT;
  dropTopBand();
}

function dropTopBand(): void {
  const band = codedBands - 1;
  spent -= intAt(PULSE_BITS, band) + intensityBits;
  if (intensityBits > 0) intensityBits = i32(load<u8>(NAMING_BITS + usize(band)));
  spent += intensityBits;
  // At least a bit of fine energy, if there is one.
  const retained = topBits >= channels << BIT ? channels << BIT : 0;
  spent += retained;
  setInt(PULSE_BITS, band, retained);
  codedBands--;
}

/** True: the first band with intensity stereo is coded, as a number from 0 to the coded bands. */
export function namesIntensity(): bool {
  return intensityBits > 0;
}

/** Sets the first band with intensity stereo, or 0. Returns true if it is coded whether both channels are separate. */
export function setIntensity(band: i32): bool {
  intensityBand = band;
  if (band === 0) {
    total += dualBits;
    dualBits = 0;
  }
  return dualBits > 0;
}

/** Shares all bits out to PULSE_BITS, FINE_BITS and FINE_PRIORITY. */
export function finishAllocation(dual: bool): void {
  isDual = dual;
  spread(total - spent);
  const withAngle = channels === 2 && !isDual ? intensityBand : 0;
  balance = shareBands(channels, sizeLog, bands, codedBands, withAngle);
}

/** The two settings between which the bits lie, to LOWER and MORE. Returns the last band that was boosted. */
function chooseSettings(): i32 {
  let low = 1;
  let high = SETTINGS - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    let isReached = false;
    let sum = 0;
    for (let band = bands - 1; band >= 0; band--) {
      const bits = settingBits(middle, band) + intAt(BOOSTS, band);
      if (bits >= intAt(LEAST, band) || isReached) {
        isReached = true;
        sum += min(bits, intAt(CAPS, band));
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
  for (let band = 0; band < bands; band++) {
    const boost = intAt(BOOSTS, band);
    const under = settingBits(lower, band) + (lower > 0 ? boost : 0);
    const over = (upper >= SETTINGS ? tilted(intAt(CAPS, band), band) : settingBits(upper, band)) + boost;
    if (boost > 0) lastBoosted = band;
    setInt(LOWER, band, under);
    setInt(MORE, band, max(0, over - under));
  }
  return lastBoosted;
}

function settingBits(setting: i32, band: i32): i32 {
  const perSample = i32(load<u8>(SETTING_BITS + usize(setting * BANDS + band)));
  return tilted(((intAt(SAMPLES, band) * perSample) << sizeLog) >> 2, band);
}

function tilted(bits: i32, band: i32): i32 {
  return bits <= 0 ? bits : max(0, bits + intAt(TILTS, band));
}

function tiltOf(band: i32): i32 {
  const width = bandWidth(band);
  const slope = (trim - 5 - sizeLog) * (bands - band - 1) * (1 << (sizeLog + BIT));
  // One sample is served by its level.
  const alone = width << sizeLog === 1 ? channels << BIT : 0;
  return ((channels * width * slope) >> 6) - alone;
}

/** Writes the mixture of both settings that fits to PULSE_BITS. Returns its sum. */
function mixSettings(): i32 {
  let low = 0;
  let high = 1 << STEPS_LOG;
  for (let step = 0; step < STEPS_LOG; step++) {
    const middle = (low + high) >> 1;
    if (mix(middle) > total) high = middle;
    else low = middle;
  }
  return mix(low);
}

function mix(share: i32): i32 {
  let sum = 0;
  let isReached = false;
  for (let band = bands - 1; band >= 0; band--) {
    let bits = intAt(LOWER, band) + ((share * intAt(MORE, band)) >> STEPS_LOG);
    if (bits >= intAt(LEAST, band) || isReached) isReached = true;
    else bits = bits >= channels << BIT ? channels << BIT : 0;
    bits = min(bits, intAt(CAPS, band));
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
