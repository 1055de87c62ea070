// Coding of the bands' levels in steps of 6 dB (RFC 6716 section 4.3.2.1), each as the difference from a prediction by
// the band below and, unless the frame must be independent, by the frame before. AssemblyScript.

import { BANDS, SHORT_BLOCKS_LOG } from "./format.ts";
import {
  BEFORE_MIN,
  DECAY_BITS,
  fromBefore,
  fromBelow,
  LEVEL_BITS,
  LEVEL_TOTAL,
  levelProbabilities,
  nextChance,
  secondChance,
  ZERO_BITS,
} from "./level-model.ts";
import { floatAt, setFloat } from "./lists.ts";
import { BANDS_BYTES, LEVEL_ERRORS, LEVELS, LEVELS_BEFORE } from "./memory-map.ts";
import { encodeBit, encodeOf, encodeOfPower, restore, save, tell, tellEighths } from "./range-encoder.ts";
import { oldLevels, SILENT_LEVEL } from "./slot.ts";
import { FEW_STEPS_BITS, FEW_STEPS_PROBABILITIES } from "./symbols.ts";

let bandBelow0: f32 = 0;
let bandBelow1: f32 = 0;

/**
 * Codes LEVELS in at most `bitsMax` of the whole packet; the slot's old levels become those of the decoder, and
 * LEVEL_ERRORS the remaining errors. Chooses the mode that takes fewer bits, unless it `mustStandAlone`.
 */
export function codeCoarseLevels(channels: i32, bitsMax: i32, mustStandAlone: bool): void {
  keepOldLevels(channels);
  const decreaseMax: f32 = min<f32>(16, 0.125 * f32(bitsMax >> 3));
  if (tell() + 3 > bitsMax) {
    attempt(channels, bitsMax, false, decreaseMax);
    return;
  }
  if (mustStandAlone) {
    attempt(channels, bitsMax, true, decreaseMax);
    return;
  }
  save();
  const missedAlone = attempt(channels, bitsMax, true, decreaseMax);
  const bitsAlone = tellEighths();
  restore();
  restoreOldLevels(channels);
  const missed = attempt(channels, bitsMax, false, decreaseMax);
  if (missed < missedAlone || (missed === missedAlone && tellEighths() <= bitsAlone)) return;
  restore();
  restoreOldLevels(channels);
  attempt(channels, bitsMax, true, decreaseMax);
}

/** Returns by how many steps levels were coded wrong for lack of bits. */
function attempt(channels: i32, bitsMax: i32, isIndependent: bool, decreaseMax: f32): i32 {
  if (tell() + 3 <= bitsMax) encodeBit(isIndependent, 3);
  bandBelow0 = 0;
  bandBelow1 = 0;
  let missed = 0;
  for (let band = 0; band < BANDS; band++) {
    for (let channel = 0; channel < channels; channel++) {
      missed += codeLevel(channels, channel, band, bitsMax, isIndependent, decreaseMax);
    }
  }
  return missed;
}

function codeLevel(channels: i32, channel: i32, band: i32, bitsMax: i32, isIndependent: bool, decreaseMax: f32): i32 {
  const level = floatAt(LEVELS + usize(channel) * BANDS_BYTES, band);
  const old = floatAt(oldLevels(channel), band);
  const below = channel === 0 ? bandBelow0 : bandBelow1;
  const expected: f32 = below + fromBefore(SHORT_BLOCKS_LOG, isIndependent) * max(old, BEFORE_MIN);
  const difference = level - expected;
  const target = softened(i32(Mathf.floor(difference + 0.5)), level, max(old, SILENT_LEVEL) - decreaseMax);
  const steps = codeSteps(
    affordable(target, band, bitsMax - tell() - 3 * channels * (BANDS - band)),
    band,
    bitsMax,
    isIndependent,
  );
  setFloat(LEVEL_ERRORS + usize(channel) * BANDS_BYTES, band, difference - f32(steps));
  setFloat(oldLevels(channel), band, expected + f32(steps));
  const risen: f32 = below + f32(steps) * fromBelow(SHORT_BLOCKS_LOG, isIndependent);
  if (channel === 0) bandBelow0 = risen;
  else bandBelow1 = risen;
  return abs(target - steps);
}

/** Limits how fast a level falls to what is audible. */
function softened(steps: i32, level: f32, least: f32): i32 {
  if (steps >= 0 || level >= least) return steps;
  return min(0, steps + i32(least - level));
}

/** With few bits left for the following bands, large steps are limited. */
function affordable(steps: i32, band: i32, bitsLeft: i32): i32 {
  if (band === 0 || bitsLeft >= 30) return steps;
  const atMost = bitsLeft < 24 ? min(1, steps) : steps;
  return bitsLeft < 16 ? max(-1, atMost) : atMost;
}

/** Returns the steps that were actually coded. */
function codeSteps(steps: i32, band: i32, bitsMax: i32, isIndependent: bool): i32 {
  const bits = bitsMax - tell();
  if (bits >= 15) return codeLaplace(steps, levelProbabilities(SHORT_BLOCKS_LOG, isIndependent, band));
  if (bits >= 2) {
    const step = max(-1, min(1, steps));
    encodeOf(step < 0 ? 1 : 2 * step, FEW_STEPS_PROBABILITIES, FEW_STEPS_BITS);
    return step;
  }
  if (bits >= 1) {
    encodeBit(steps < 0, 1);
    return max(-1, min(0, steps));
  }
  return -1;
}

/** A number with a Laplace-like distribution, out of 32768; all values rarer than 1 count as 1. */
function codeLaplace(value: i32, probabilities: usize): i32 {
  const zero: u32 = u32(load<u8>(probabilities)) << ZERO_BITS;
  const decay: u32 = u32(load<u8>(probabilities, 1)) << DECAY_BITS;
  if (value === 0) {
    encodeOfPower(0, zero, LEVEL_BITS);
    return 0;
  }
  const isNegative = value < 0;
  const size = abs(value);
  let from = zero;
  let chance: u32 = secondChance(zero, decay);
  let reached: i32 = 1;
  while (chance > 0 && reached < size) {
    from += 2 * chance + 2;
    chance = nextChance(chance, decay);
    reached++;
  }
  if (chance > 0) {
    if (!isNegative) from += chance + 1;
    encodeOfPower(from, from + chance + 1, LEVEL_BITS);
    return value;
  }
  // As far out as both signs still fit.
  const sign = isNegative ? 1 : 0;
  const remainder = (i32(LEVEL_TOTAL - from) + sign) >> 1;
  const further = min(size - reached, remainder - 1);
  from += u32(2 * further + 1 - sign);
  encodeOfPower(from, min<u32>(from + 1, LEVEL_TOTAL), LEVEL_BITS);
  return isNegative ? -(reached + further) : reached + further;
}

function keepOldLevels(channels: i32): void {
  for (let channel = 0; channel < channels; channel++) {
    memory.copy(LEVELS_BEFORE + usize(channel) * BANDS_BYTES, oldLevels(channel), BANDS_BYTES);
  }
}

function restoreOldLevels(channels: i32): void {
  for (let channel = 0; channel < channels; channel++) {
    memory.copy(oldLevels(channel), LEVELS_BEFORE + usize(channel) * BANDS_BYTES, BANDS_BYTES);
  }
}
