// Boosts: bands that stand out from their neighbours get more bits than the allocation alone gives (RFC 6716 section
// 4.3.3), as noise beside a peak is audible. The same levels give how much each band matters to other choices.
// AssemblyScript.

import { exp2 } from "./approximations.ts";
import { boostStep, capOf } from "./band-caps.ts";
import { BANDS, BIT, bandWidth, meanLevel, SHORT_BLOCKS_LOG, widthLog } from "./format.ts";
import { floatAt, intAt, setFloat, setInt } from "./lists.ts";
import {
  BAND_SPARE,
  BANDS_BYTES,
  BOOSTS,
  IMPORTANCE,
  LEAKS,
  LEVELS,
  LONG_LEVELS,
  SPREAD_WEIGHTS,
} from "./memory-map.ts";
import { encodeBit, tellEighths } from "./range-encoder.ts";

/** Resolution of samples: anything below is the noise of the input itself. */
const INPUT_BITS: i32 = 24;
/** The importance of bands that matter neither more nor less than others. */
const USUAL_IMPORTANCE: i32 = 13;

// Per band: the noise floor, the level around it in each channel, and a mask.
const FLOOR: usize = BAND_SPARE;
const ENVELOPE: usize = FLOOR + BANDS_BYTES;
const MASK: usize = ENVELOPE + 2 * BANDS_BYTES;

let boostTotal: i32 = 0;
let depth: f32 = 0;

/** The sum of all boosts, in eighths of bits. */
export function boostsTotal(): i32 {
  return boostTotal;
}

/** How far the loudest band is above the input's noise, in binary logarithms. */
export function depthOfFrame(): f32 {
  return depth;
}

/** Writes BOOSTS (in steps), IMPORTANCE and SPREAD_WEIGHTS for a frame of about `bytes`. */
export function chooseBoosts(channels: i32, bytes: i32, isShort: bool, isVariable: bool): void {
  measureDepth(channels);
  weighSpread(channels);
  boostTotal = 0;
  for (let band = 0; band < BANDS; band++) {
    setInt(BOOSTS, band, 0);
    setInt(IMPORTANCE, band, USUAL_IMPORTANCE);
  }
  if (bytes < 45) return;
  for (let channel = 0; channel < channels; channel++) follow(channel);
  compareWithEnvelope(channels);
  for (let band = 0; band < BANDS; band++) {
    const above = floatAt(ENVELOPE, band);
    setInt(IMPORTANCE, band, i32(Mathf.floor(0.5 + 13 * exp2(min<f32>(above, 4)))));
    setFloat(ENVELOPE, band, weighed(band, above, bytes, isShort));
  }
  const isLimited = !isVariable || !isShort;
  const limit = (((2 * bytes) / 3) << BIT) << 3;
  for (let band = 0; band < BANDS; band++) {
    const above = min<f32>(floatAt(ENVELOPE, band) + floatAt(LEAKS, band), 4);
    const width = channels * (bandWidth(band) << SHORT_BLOCKS_LOG);
    const quantum = boostStep(width);
    const steps = i32((above * f32(width) * 8) / f32(quantum));
    if (isLimited && boostTotal + steps * quantum > limit) {
      setInt(BOOSTS, band, (limit - boostTotal) / quantum);
      boostTotal = limit;
      return;
    }
    setInt(BOOSTS, band, steps);
    boostTotal += steps * quantum;
  }
}

/** Codes BOOSTS, which become eighths of bits; returns their sum. */
export function codeBoosts(channels: i32, bitsMax: i32): i32 {
  const capacity = bitsMax << BIT;
  let rarity = 6;
  let total = 0;
  for (let band = 0; band < BANDS; band++) {
    const quantum = boostStep(channels * (bandWidth(band) << SHORT_BLOCKS_LOG));
    const cap = capOf(band, channels, SHORT_BLOCKS_LOG);
    const steps = intAt(BOOSTS, band);
    let bitRarity = rarity;
    let boost = 0;
    let taken = 0;
    while (tellEighths() + (bitRarity << BIT) < capacity - total && boost < cap) {
      const isMore = taken < steps;
      encodeBit(isMore, u32(bitRarity));
      if (!isMore) break;
      taken++;
      boost += quantum;
      total += quantum;
      bitRarity = 1;
    }
    if (taken > 0) rarity = max(2, rarity - 1);
    setInt(BOOSTS, band, boost);
  }
  return total;
}

function measureDepth(channels: i32): void {
  depth = -31.9;
  for (let band = 0; band < BANDS; band++) {
    const floor: f32 =
      0.0625 * f32(widthLog(band)) +
      0.5 +
      f32(i32(9) - INPUT_BITS) -
      meanLevel(band) +
      0.0062 * f32((band + 5) * (band + 5));
    setFloat(FLOOR, band, floor);
    const above = loudest(LEVELS, channels, band) - floor;
    setFloat(MASK, band, above);
    depth = max(depth, above);
  }
}

/** Gives a band that others mask little weight in how peaks are spread. */
function weighSpread(channels: i32): void {
  for (let band = 1; band < BANDS; band++) setFloat(MASK, band, max(floatAt(MASK, band), floatAt(MASK, band - 1) - 2));
  for (let band = BANDS - 2; band >= 0; band--) {
    setFloat(MASK, band, max(floatAt(MASK, band), floatAt(MASK, band + 1) - 3));
  }
  for (let band = 0; band < BANDS; band++) {
    const above = loudest(LEVELS, channels, band) - floatAt(FLOOR, band);
    const ratio = above - max(max<f32>(0, depth - 12), floatAt(MASK, band));
    setInt(SPREAD_WEIGHTS, band, 32 >> max(0, min(5, -i32(Mathf.floor(0.5 + ratio)))));
  }
}

function loudest(levels: usize, channels: i32, band: i32): f32 {
  const left = floatAt(levels, band);
  return channels === 1 ? left : max(left, floatAt(levels + BANDS_BYTES, band));
}

/**
 * The level around each band of a channel: an envelope that rises and falls no faster than masking does, or the median.
 */
function follow(channel: i32): void {
  const levels = LONG_LEVELS + usize(channel) * BANDS_BYTES;
  const around = ENVELOPE + usize(channel) * BANDS_BYTES;
  let lastIncrease = 0;
  setFloat(around, 0, floatAt(levels, 0));
  for (let band = 1; band < BANDS; band++) {
    if (floatAt(levels, band) > floatAt(levels, band - 1) + 0.5) lastIncrease = band;
    setFloat(around, band, min(floatAt(around, band - 1) + 1.5, floatAt(levels, band)));
  }
  for (let band = lastIncrease - 1; band >= 0; band--) {
    setFloat(around, band, min(floatAt(around, band), min(floatAt(around, band + 1) + 2, floatAt(levels, band))));
  }
  for (let band = 2; band < BANDS - 2; band++) raise(around, band, medianOf5(levels + (usize(band - 2) << 2)) - 1);
  const low = medianOf3(levels) - 1;
  raise(around, 0, low);
  raise(around, 1, low);
  const high = medianOf3(levels + (usize(BANDS - 3) << 2)) - 1;
  raise(around, BANDS - 2, high);
  raise(around, BANDS - 1, high);
  for (let band = 0; band < BANDS; band++) raise(around, band, floatAt(FLOOR, band));
}

function raise(list: usize, band: i32, least: f32): void {
  setFloat(list, band, max(floatAt(list, band), least));
}

/** Writes how much each band stands out, the mean of both channels, to the first of the two lists. */
function compareWithEnvelope(channels: i32): void {
  const right = ENVELOPE + BANDS_BYTES;
  for (let band = 0; band < BANDS; band++) {
    if (channels === 1) {
      setFloat(ENVELOPE, band, max<f32>(0, floatAt(LEVELS, band) - floatAt(ENVELOPE, band)));
      continue;
    }
    // Audio 24 dB softer than the other channel is masked by it.
    raise(right, band, floatAt(ENVELOPE, band) - 4);
    raise(ENVELOPE, band, floatAt(right, band) - 4);
    const left: f32 = max<f32>(0, floatAt(LEVELS, band) - floatAt(ENVELOPE, band));
    const other: f32 = max<f32>(0, floatAt(LEVELS + BANDS_BYTES, band) - floatAt(right, band));
    setFloat(ENVELOPE, band, 0.5 * (left + other));
  }
}

/** Steady frames have less to spare, least of all at low rates; low bands gain most. */
function weighed(band: i32, above: f32, bytes: i32, isShort: bool): f32 {
  let weight: f32 = isShort ? above : max<f32>(0.5, min<f32>(0.75, f32(bytes) / 640 + 0.25)) * above;
  if (band < 8) weight *= 2;
  if (band >= 12) weight *= 0.5;
  if (band === 0 && bytes > 320) weight += min<f32>(1.5, 0.001 * f32(bytes - 320));
  return weight;
}

function medianOf3(list: usize): f32 {
  const a = load<f32>(list);
  const b = load<f32>(list, 4);
  const c = load<f32>(list, 8);
  return max(min(a, b), min(max(a, b), c));
}

function medianOf5(list: usize): f32 {
  const a = load<f32>(list);
  const b = load<f32>(list, 4);
  const c = load<f32>(list, 8);
  const d = load<f32>(list, 12);
  const e = load<f32>(list, 16);
  // Neither the lowest nor the highest of the four: the median of the rest.
  const low = max(min(a, b), min(d, e));
  const high = min(max(a, b), max(d, e));
  return max(min(low, high), min(max(low, high), c));
}
