// The levels of bands: coarse steps of 6 dB, each as the difference from a prediction, and fractions of them (RFC 6716
// section 4.3.2). AssemblyScript, part of the CELT decoder.

import { FINE_BITS_MAX } from "../../../../../opus-encoder/assembly/format.ts";
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
} from "../../../../../opus-encoder/assembly/level-model.ts";
import { floatAt, intAt, setFloat } from "../../../../../opus-encoder/assembly/lists.ts";
import { FINE_BITS, FINE_PRIORITY } from "../../../../../opus-encoder/assembly/memory-map.ts";
import { FEW_STEPS_BITS, FEW_STEPS_PROBABILITIES } from "../../../../../opus-encoder/assembly/symbols.ts";
import { decodeBit, decodeOf, decodeRaw, positionOfPower, take, tell } from "./range-decoder.ts";
import { levels } from "./slot.ts";

let bandBelow0: f32 = 0;
let bandBelow1: f32 = 0;

/** Reads the coarse levels of a frame of `bitsMax`. */
export function readCoarseLevels(channels: i32, sizeLog: i32, bands: i32, bitsMax: i32, isIndependent: bool): void {
  bandBelow0 = 0;
  bandBelow1 = 0;
  const before = fromBefore(sizeLog, isIndependent);
  const share = fromBelow(sizeLog, isIndependent);
  for (let band = 0; band < bands; band++) {
    const model = levelProbabilities(sizeLog, isIndependent, band);
    for (let channel = 0; channel < channels; channel++) {
      const steps = f32(readSteps(model, bitsMax - tell()));
      const list = levels(channel);
      const below = channel === 0 ? bandBelow0 : bandBelow1;
      setFloat(list, band, before * max(floatAt(list, band), BEFORE_MIN) + below + steps);
      if (channel === 0) bandBelow0 += share * steps;
      else bandBelow1 += share * steps;
    }
  }
}

function readSteps(model: usize, bits: i32): i32 {
  if (bits >= 15) return readLaplace(model);
  if (bits >= 2) {
    const symbol = decodeOf(FEW_STEPS_PROBABILITIES, FEW_STEPS_BITS);
    return (symbol >> 1) ^ -(symbol & 1);
  }
  return bits >= 1 ? -i32(decodeBit(1)) : -1;
}

/** A number with a Laplace-like distribution; all values rarer than 1 in 32768 count as 1. */
function readLaplace(model: usize): i32 {
  const zero: u32 = u32(load<u8>(model)) << ZERO_BITS;
  const decay: u32 = u32(load<u8>(model, 1)) << DECAY_BITS;
  const at = positionOfPower(LEVEL_BITS);
  if (at < zero) {
    take(0, zero, LEVEL_TOTAL);
    return 0;
  }
  let from = zero;
  let chance = secondChance(zero, decay);
  let size = 1;
  while (chance > 0 && at >= from + 2 * chance + 2) {
    from += 2 * chance + 2;
    chance = nextChance(chance, decay);
    size++;
  }
  if (chance === 0) {
    const further = (at - from) >> 1;
    size += i32(further);
    from += 2 * further;
  }
  const isNegative = at < from + chance + 1;
  if (!isNegative) from += chance + 1;
  take(from, min(from + chance + 1, LEVEL_TOTAL), LEVEL_TOTAL);
  return isNegative ? -size : size;
}

/** Reads the number of bits per band that FINE_BITS gives. */
export function readFineLevels(channels: i32, bands: i32, bitsMax: i32): void {
  for (let band = 0; band < bands; band++) {
    const bits = intAt(FINE_BITS, band);
    if (bits <= 0 || tell() + channels * bits > bitsMax) continue;
    for (let channel = 0; channel < channels; channel++) {
      raise(channel, band, (f32(decodeRaw(bits)) + 0.5) / f32(1 << bits) - 0.5);
    }
  }
}

/** One more bit per band and channel, while bits are left: first for the bands with priority. */
export function readLeftOverBits(channels: i32, bands: i32, bitsLeft: i32): void {
  for (let priority = 0; priority < 2; priority++) {
    for (let band = 0; band < bands && bitsLeft >= channels; band++) {
      const bits = intAt(FINE_BITS, band);
      if (bits >= FINE_BITS_MAX || intAt(FINE_PRIORITY, band) !== priority) continue;
      for (let channel = 0; channel < channels; channel++) {
        raise(channel, band, (f32(decodeRaw(1)) - 0.5) / f32(2 << bits));
      }
      bitsLeft -= channels;
    }
  }
}

function raise(channel: i32, band: i32, by: f32): void {
  setFloat(levels(channel), band, floatAt(levels(channel), band) + by);
}
