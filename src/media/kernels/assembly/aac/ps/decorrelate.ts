// Makes a second signal of the first that sounds alike but is not correlated: delays and filters, less where something
// begins suddenly. AssemblyScript, part of the AAC decoder; ISO 14496-3 section 8.6.4.5.

import {
  DELAY_BYTES,
  DELAYS_BYTE,
  ENERGIES_BYTE,
  ENERGY_BYTES,
  FILTERED_BANDS_MAX,
  FRACTIONS_BYTE,
  GAIN_ROW_BYTES,
  PARAMETERS_BYTE,
  PARAMETERS_MAX,
  PART_BYTES,
  SLOTS_OF_TIME,
  STEREO_BANDS_MAX,
  STEREO_BYTES,
  STEREO_DELAYS,
  STEREO_FILTER_PAST,
  STEREO_FILTERS,
  STEREO_PAST,
  STEREO_TRANSIENTS,
} from "../../../numbers/aac.ts";
import { bandAt, bandCount } from "./bands.ts";
import { fact, WAS_34 } from "./facts.ts";

const SLOTS_BYTES: usize = 4 * SLOTS_OF_TIME;
const PAST_BYTES: usize = 4 * STEREO_PAST;
const FILTER_PAST_BYTES: usize = 4 * STEREO_FILTER_PAST;
/** Bands of the first signal with their past: real parts, imaginary ones. */
const INPUT: usize = DELAYS_BYTE;
/** Outputs of the three filters with their past. */
const OUTPUTS: usize = DELAYS_BYTE + 2 * DELAY_BYTES;
const FILTERS: i32 = 3;
const PEAK_DECAY: f32 = 0.76592833836465;
const SMOOTHING: f32 = 0.25;
const IMPACT: f32 = 1.5;
const SLOPE: f32 = 0.05;
const SHORT_DELAY: i32 = 1;
const LONG_DELAY: i32 = 14;
const FILTER_DELAY: i32 = 2;

export function parameterOf(band: i32, is34: bool): i32 {
  return i32(load<u8>(PARAMETERS_BYTE + (is34 ? STEREO_BANDS_MAX : 0) + band));
}

/** The left side's bands to those of the right. `end`: behind the last subband that has audio. */
export function decorrelate(stereo: usize, end: i32, is34: bool): void {
  if (is34 !== (fact(stereo, WAS_34) !== 0)) {
    memory.fill(stereo + STEREO_TRANSIENTS, 0, 3 * GAIN_ROW_BYTES);
    memory.fill(stereo + STEREO_DELAYS, 0, STEREO_BYTES - STEREO_DELAYS);
  }
  forget(stereo, end + bandCount(is34) - 64, is34);
  findTransients(stereo, is34);
  const filtered = is34 ? 50 : 30;
  const delayed = is34 ? 62 : 42;
  for (let band = 0; band < bandCount(is34); band++) {
    const gains: usize = ENERGIES_BYTE + ENERGY_BYTES * parameterOf(band, is34);
    exchangePast(stereo, band, bandAt(0, band, is34));
    const to = bandAt(1, band, is34);
    if (band < filtered) filter(stereo, band, gains, to, is34);
    else delay(band < delayed ? LONG_DELAY : SHORT_DELAY, gains, to);
  }
}

/** Bands without audio have no past. */
function forget(stereo: usize, end: i32, is34: bool): void {
  const delayBytes: usize = 2 * PAST_BYTES;
  memory.fill(stereo + STEREO_DELAYS + delayBytes * end, 0, delayBytes * (bandCount(is34) - end));
  const filtered = is34 ? 50 : 30;
  const filterBytes: usize = 2 * FILTERS * FILTER_PAST_BYTES;
  if (end < filtered) memory.fill(stereo + STEREO_FILTERS + filterBytes * end, 0, filterBytes * (filtered - end));
}

/** To `ENERGIES_BYTE`: the gain of each parameter over time. */
function findTransients(stereo: usize, is34: bool): void {
  memory.fill(ENERGIES_BYTE, 0, ENERGY_BYTES * PARAMETERS_MAX);
  for (let band = 0; band < bandCount(is34); band++) {
    const from = bandAt(0, band, is34);
    const to: usize = ENERGIES_BYTE + ENERGY_BYTES * parameterOf(band, is34);
    for (let at: usize = 0; at < SLOTS_BYTES; at += 16) {
      const re = v128.load(from + at);
      const im = v128.load(from + PART_BYTES + at);
      v128.store(to + at, f32x4.add(v128.load(to + at), f32x4.add(f32x4.mul(re, re), f32x4.mul(im, im))));
    }
  }
  const parameters = is34 ? 34 : 20;
  for (let parameter = 0; parameter < parameters; parameter++) {
    const peaks = stereo + STEREO_TRANSIENTS + 4 * parameter;
    const powers = peaks + GAIN_ROW_BYTES;
    const differences = powers + GAIN_ROW_BYTES;
    let peak = load<f32>(peaks);
    let power = load<f32>(powers);
    let difference = load<f32>(differences);
    const start: usize = ENERGIES_BYTE + ENERGY_BYTES * parameter;
    for (let at = start; at < start + SLOTS_BYTES; at += 4) {
      const energy = load<f32>(at);
      peak = max(PEAK_DECAY * peak, energy);
      power += SMOOTHING * (energy - power);
      difference += SMOOTHING * (peak - energy - difference);
      const limit = IMPACT * difference;
      store<f32>(at, limit > power ? power / limit : 1);
    }
    store<f32>(peaks, peak);
    store<f32>(powers, power);
    store<f32>(differences, difference);
  }
}

/** To `INPUT`: the band behind its past; its last slots are kept. */
function exchangePast(stereo: usize, band: i32, from: usize): void {
  let kept = stereo + STEREO_DELAYS + 2 * PAST_BYTES * band;
  for (let part: usize = 0; part < 2; part++) {
    const to = INPUT + DELAY_BYTES * part;
    memory.copy(to, kept, PAST_BYTES);
    memory.copy(to + PAST_BYTES, from + PART_BYTES * part, SLOTS_BYTES);
    memory.copy(kept, to + SLOTS_BYTES, PAST_BYTES);
    kept += PAST_BYTES;
  }
}

function delay(slots: i32, gains: usize, to: usize): void {
  const from = INPUT + PAST_BYTES - 4 * slots;
  for (let at: usize = 0; at < SLOTS_BYTES; at += 16) {
    const gain = v128.load(gains + at);
    v128.store(to + at, f32x4.mul(gain, v128.load(from + at)));
    v128.store(to + at + PART_BYTES, f32x4.mul(gain, v128.load(from + at + DELAY_BYTES)));
  }
}

/** Three all-pass filters in a row, whose delays are 3, 4 and 5 slots. */
function filter(stereo: usize, band: i32, gains: usize, to: usize, is34: bool): void {
  const kept = stereo + STEREO_FILTERS + 2 * FILTERS * FILTER_PAST_BYTES * band;
  for (let row: usize = 0; row < 2 * FILTERS; row++) {
    memory.copy(OUTPUTS + DELAY_BYTES * row, kept + FILTER_PAST_BYTES * row, FILTER_PAST_BYTES);
  }
  const turns: usize = FRACTIONS_BYTE + 32 * ((is34 ? FILTERED_BANDS_MAX : 0) + band);
  const slope = min<f32>(max<f32>(1 - SLOPE * f32(band - (is34 ? 32 : 10)), 0), 1);
  const turnRe = load<f32>(turns);
  const turnIm = load<f32>(turns + 4);
  const from = INPUT + PAST_BYTES - 4 * FILTER_DELAY;
  for (let slot = 0; slot < SLOTS_OF_TIME; slot++) {
    const at: usize = 4 * slot;
    const inRe = load<f32>(from + at);
    const inIm = load<f32>(from + at + DELAY_BYTES);
    let re = inRe * turnRe - inIm * turnIm;
    let im = inRe * turnIm + inIm * turnRe;
    for (let index = 0; index < FILTERS; index++) {
      const gain: f32 =
        slope * (index === 0 ? <f32>0.65143905753106 : index === 1 ? <f32>0.56471812200776 : <f32>0.48954165955695);
      const output: usize = OUTPUTS + 2 * DELAY_BYTES * index + at;
      const pastRe = load<f32>(output + 4 * (2 - index));
      const pastIm = load<f32>(output + 4 * (2 - index) + DELAY_BYTES);
      const fractionRe = load<f32>(turns + 8 * (index + 1));
      const fractionIm = load<f32>(turns + 8 * (index + 1) + 4);
      const nextRe = pastRe * fractionRe - pastIm * fractionIm - gain * re;
      const nextIm = pastRe * fractionIm + pastIm * fractionRe - gain * im;
      store<f32>(output + 4 * STEREO_FILTER_PAST, re + gain * nextRe);
      store<f32>(output + 4 * STEREO_FILTER_PAST + DELAY_BYTES, im + gain * nextIm);
      re = nextRe;
      im = nextIm;
    }
    const gain = load<f32>(gains + at);
    store<f32>(to + at, gain * re);
    store<f32>(to + at + PART_BYTES, gain * im);
  }
  for (let row: usize = 0; row < 2 * FILTERS; row++) {
    memory.copy(kept + FILTER_PAST_BYTES * row, OUTPUTS + DELAY_BYTES * row + SLOTS_BYTES, FILTER_PAST_BYTES);
  }
}
