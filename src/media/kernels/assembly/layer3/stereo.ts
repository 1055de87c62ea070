// Makes left and right of what joint stereo stores: sum and difference, or one spectrum with a direction for each band
// (intensity). AssemblyScript, part of the layer III decoder; ISO 11172-3 section 2.4.3.4.9, ISO 13818-3 section 2.4.3.2.

import { GRANULE_SAMPLES, PANNING_BYTE, SPECTRA_BYTE } from "../../numbers/layer3.ts";
import {
  BLOCK_TYPE,
  END,
  FIRST_SHORT_BAND,
  fact,
  IS_MIXED,
  longStart,
  mixedLongBands,
  SCALE_CODE,
  SHORT_BLOCKS,
  setFact,
  shortStart,
} from "./granule.ts";

export const INTENSITY: i32 = 1;
export const SUM_DIFFERENCE: i32 = 2;

const LEFT: usize = SPECTRA_BYTE;
const RIGHT: usize = SPECTRA_BYTE + 4 * GRANULE_SAMPLES;
/** Positions from here on are none. */
const POSITIONS: i32 = 7;
const POSITIONS_2: i32 = 64;
/** What both sides are scaled by where the spectrum was taken for a sum. */
const ROOT: f32 = Math.SQRT2 as f32;

/** Both spectra are scaled, as sum and difference where the mode has that. `positions`: of the bands of intensity. */
export function joinSides(left: usize, right: usize, positions: usize, rate: i32, mode: i32, isVersion1: bool): void {
  const end = max(fact(left, END), fact(right, END));
  const isSum = (mode & SUM_DIFFERENCE) !== 0;
  if ((mode & INTENSITY) === 0) {
    if (isSum) separate(0, end);
  } else if (fact(right, BLOCK_TYPE) === SHORT_BLOCKS) directShort(right, positions, rate, isSum, isVersion1);
  else directLong(right, positions, rate, isSum, isVersion1);
  const joined = (mode & INTENSITY) !== 0 ? GRANULE_SAMPLES : (end + 3) & ~3;
  setFact(left, END, min(joined, GRANULE_SAMPLES));
  setFact(right, END, min(joined, GRANULE_SAMPLES));
}

/** Sum and difference to left and right. */
function separate(from: i32, to: i32): void {
  for (let sample = from; sample < to; sample++) {
    const at: usize = 4 * sample;
    const sum = load<f32>(LEFT + at);
    const difference = load<f32>(RIGHT + at);
    store<f32>(LEFT + at, sum + difference);
    store<f32>(RIGHT + at, sum - difference);
  }
}

function directLong(right: usize, positions: usize, rate: i32, isSum: bool, isVersion1: bool): void {
  let last = 21;
  while (last >= 0 && isSilent(longStart(rate, last), longStart(rate, last + 1))) last--;
  for (let band = 0; band < 22; band++) {
    // The last band has the position of the one before it.
    const position =
      band === 21 ? lastPosition(load<u8>(positions + 20), last >= 20, isVersion1) : load<u8>(positions + band);
    const start = longStart(rate, band);
    const end = longStart(rate, band + 1);
    if (band > last) direct(right, start, end, position, isSum, isVersion1);
    else if (isSum) separate(start, end);
  }
}

function directShort(right: usize, positions: usize, rate: i32, isSum: bool, isVersion1: bool): void {
  const isMixed = fact(right, IS_MIXED) !== 0;
  const firstBand = isMixed ? FIRST_SHORT_BAND : 0;
  const longBands = isMixed ? mixedLongBands(rate) : 0;
  let isAnyHeard = false;
  for (let window = 0; window < 3; window++) {
    let last = 12;
    while (last >= firstBand && isSilentShort(rate, last, window)) last--;
    if (last >= firstBand) isAnyHeard = true;
    for (let band = firstBand; band < 13; band++) {
      const at = positions + longBands + 3 * (band - firstBand) + window;
      const position = band === 12 ? lastPosition(load<u8>(at - 3), last >= 11, isVersion1) : load<u8>(at);
      const width = shortStart(rate, band + 1) - shortStart(rate, band);
      const start = 3 * shortStart(rate, band) + window * width;
      if (band > last) direct(right, start, start + width, position, isSum, isVersion1);
      else if (isSum) separate(start, start + width);
    }
  }
  let last = isAnyHeard ? longBands : longBands - 1;
  while (last >= 0 && last < longBands && isSilent(longStart(rate, last), longStart(rate, last + 1))) last--;
  for (let band = 0; band < longBands; band++) {
    const start = longStart(rate, band);
    const end = longStart(rate, band + 1);
    if (band > last) direct(right, start, end, load<u8>(positions + band), isSum, isVersion1);
    else if (isSum) separate(start, end);
  }
}

/** Of the highest band, which stores none. */
function lastPosition(before: i32, isHeardBefore: bool, isVersion1: bool): i32 {
  if (!isHeardBefore) return before;
  return isVersion1 ? 3 : 0;
}

function direct(right: usize, start: i32, end: i32, position: i32, isSum: bool, isVersion1: bool): void {
  if (position >= (isVersion1 ? POSITIONS : POSITIONS_2)) {
    if (isSum) separate(start, end);
    return;
  }
  const scale = isVersion1 ? 0 : fact(right, SCALE_CODE) & 1;
  const panning: usize = PANNING_BYTE + 8 * (isVersion1 ? position : 8 + 64 * scale + position);
  const factor: f32 = isSum ? ROOT : 1;
  const leftGain = factor * load<f32>(panning);
  const rightGain = factor * load<f32>(panning + 4);
  for (let sample = start; sample < end; sample++) {
    const at: usize = 4 * sample;
    const value = load<f32>(LEFT + at);
    store<f32>(LEFT + at, leftGain * value);
    store<f32>(RIGHT + at, rightGain * value);
  }
}

/** The right channel has nothing there. */
function isSilent(start: i32, end: i32): bool {
  for (let sample = start; sample < end; sample++) if (load<f32>(RIGHT + 4 * sample) !== 0) return false;
  return true;
}

function isSilentShort(rate: i32, band: i32, window: i32): bool {
  const width = shortStart(rate, band + 1) - shortStart(rate, band);
  const start = 3 * shortStart(rate, band) + window * width;
  return isSilent(start, start + width);
}
