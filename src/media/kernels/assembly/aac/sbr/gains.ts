// How loud each generated subband is in each envelope: what the packet says, what it is, and the gains that follow, within
// the limits of the limiter. AssemblyScript, part of the AAC decoder; ISO 14496-3 section 4.6.18.7.

import {
  ADJUSTED_BANDS,
  BAND_BYTES,
  HALVES,
  HALVES_BYTE,
  HALVES_ZERO,
  HIGH_BYTE,
  MAP_BYTES,
  MAPS_BYTE,
  PART_BYTES,
} from "../../../numbers/aac.ts";
import {
  BORDER,
  COUNT,
  ENVELOPES,
  entry,
  FIRST,
  fact,
  HAS_SINES,
  HIGH_COUNT,
  HIGH_TABLE,
  hasSine,
  IS_COUPLED,
  IS_INTERPOLATED,
  LIMIT_COUNT,
  LIMIT_TABLE,
  LIMITER_GAIN,
  LOW_COUNT,
  LOW_TABLE,
  level,
  NOISE_BORDER,
  NOISE_COUNT,
  NOISE_TABLE,
  NOISES,
  noiseLevel,
  OLD_SINES,
  OLD_TRANSIENT,
  RESOLUTION,
  STEP,
  setEntry,
  TRANSIENT,
} from "./facts.ts";

// Maps, by envelope and subband: energy and noise as they are to be, whether there is a sine, energy as it is.
const WANTED: i32 = 0;
const NOISE: i32 = 1;
const SINE: i32 = 2;
const CURRENT: i32 = 3;
/** The gain; before that, whether its band has a sine somewhere. */
export const GAIN: i32 = 4;
export const NOISE_GAIN: i32 = 5;
export const SINE_GAIN: i32 = 6;

const OFFSET: i32 = 2;
/** 2^60: no envelope is louder. */
const EXPONENT_MAX: i32 = 120;
const TINY: f32 = 1.1920929e-7;
const GAIN_MAX: f32 = 100_000;
const BOOST_MAX: f32 = 1.584893192;

export function mapAt(map: i32, envelope: i32): usize {
  return MAPS_BYTE + MAP_BYTES * map + 4 * ADJUSTED_BANDS * envelope;
}

/** `left` and `right`: of the pair, or twice a single channel; `replica`: the one of both. */
export function findGains(header: usize, replica: usize, left: usize, right: usize): void {
  const envelopes = fact(replica, ENVELOPES);
  const count = fact(header, COUNT);
  for (let envelope = 0; envelope < envelopes; envelope++) {
    mapLevels(header, replica, left, right, envelope);
    mapSines(header, replica, envelope);
    measure(header, replica, envelope);
    for (let limit = 0; limit < fact(header, LIMIT_COUNT); limit++) limitGains(header, replica, envelope, limit);
  }
  for (let band = 0; band < count; band++) {
    const isSine = envelopes > 0 && load<f32>(mapAt(SINE, envelopes - 1) + 4 * band) !== 0;
    setEntry(replica, OLD_SINES, band, i32(isSine));
  }
  for (let band = count; band < ADJUSTED_BANDS; band++) setEntry(replica, OLD_SINES, band, 0);
}

function bandBorder(header: usize, isHigh: bool, band: i32): i32 {
  return entry(header, isHigh ? HIGH_TABLE : LOW_TABLE, band) - fact(header, FIRST);
}

function bandCount(header: usize, isHigh: bool): i32 {
  return fact(header, isHigh ? HIGH_COUNT : LOW_COUNT);
}

function fill(row: usize, from: i32, to: i32, value: f32): void {
  for (let band = from; band < to; band++) store<f32>(row + 4 * band, value);
}

/** 2^(halves/2). */
function power(halves: i32): f32 {
  const index = min(max(halves, -HALVES_ZERO), EXPONENT_MAX) + HALVES_ZERO;
  return load<f32>(HALVES_BYTE + 4 * min(index, HALVES - 1));
}

function mapLevels(header: usize, replica: usize, left: usize, right: usize, envelope: i32): void {
  const isCoupled = left !== right && fact(header, IS_COUPLED) !== 0;
  const isRight = replica !== left;
  const isHigh = fact(replica, RESOLUTION + envelope + 1) !== 0;
  const steps = fact(replica, STEP) !== 0 ? 2 : 1;
  const wanted = mapAt(WANTED, envelope);
  for (let band = 0; band < bandCount(header, isHigh); band++) {
    const value = isCoupled
      ? shared(14 + steps * level(left, envelope + 1, band), 24 - steps * level(right, envelope + 1, band), isRight)
      : power(12 + steps * level(replica, envelope + 1, band));
    fill(wanted, bandBorder(header, isHigh, band), bandBorder(header, isHigh, band + 1), value);
  }
  const isSecond = fact(replica, NOISES) > 1 && fact(replica, BORDER + envelope) >= fact(replica, NOISE_BORDER + 1);
  const row = isSecond ? 2 : 1;
  const noise = mapAt(NOISE, envelope);
  const first = fact(header, FIRST);
  for (let band = 0; band < fact(header, NOISE_COUNT); band++) {
    const value = isCoupled
      ? shared(14 - 2 * noiseLevel(left, row, band), 24 - 2 * noiseLevel(right, row, band), isRight)
      : power(12 - 2 * noiseLevel(replica, row, band));
    fill(noise, entry(header, NOISE_TABLE, band) - first, entry(header, NOISE_TABLE, band + 1) - first, value);
  }
}

/** One side's part of a level of both. */
function shared(sum: i32, balance: i32, isRight: bool): f32 {
  const ratio = power(balance);
  const part = power(sum) / (1 + ratio);
  return isRight ? part * ratio : part;
}

/** Sines lie in the middle of the bands of high resolution. */
function mapSines(header: usize, replica: usize, envelope: i32): void {
  const sines = mapAt(SINE, envelope);
  memory.fill(sines, 0, 4 * ADJUSTED_BANDS);
  if (fact(replica, HAS_SINES) !== 0) {
    for (let band = 0; band < fact(header, HIGH_COUNT); band++) {
      const middle =
        ((entry(header, HIGH_TABLE, band) + entry(header, HIGH_TABLE, band + 1)) >> 1) - fact(header, FIRST);
      const isOn = envelope >= fact(replica, TRANSIENT) || entry(replica, OLD_SINES, middle) !== 0;
      if (hasSine(replica, band) && isOn) store<f32>(sines + 4 * middle, 1);
    }
  }
  const isHigh = fact(replica, RESOLUTION + envelope + 1) !== 0;
  for (let band = 0; band < bandCount(header, isHigh); band++) {
    const from = bandBorder(header, isHigh, band);
    const to = bandBorder(header, isHigh, band + 1);
    let hasOne = false;
    for (let subband = from; subband < to; subband++) hasOne = hasOne || load<f32>(sines + 4 * subband) !== 0;
    fill(mapAt(GAIN, envelope), from, to, hasOne ? 1 : 0);
  }
}

/** The energy of what was generated, of each subband or of each band. */
function measure(header: usize, replica: usize, envelope: i32): void {
  const start = 2 * fact(replica, BORDER + envelope) + OFFSET;
  const stop = 2 * fact(replica, BORDER + envelope + 1) + OFFSET;
  const current = mapAt(CURRENT, envelope);
  const first = fact(header, FIRST);
  const slots: f32 = f32(max(stop - start, 1));
  for (let band = 0; band < fact(header, COUNT); band++) {
    store<f32>(current + 4 * band, energyOf(first + band, start, stop) / slots);
  }
  if (fact(header, IS_INTERPOLATED) !== 0) return;
  const isHigh = fact(replica, RESOLUTION + envelope + 1) !== 0;
  for (let band = 0; band < bandCount(header, isHigh); band++) {
    const from = bandBorder(header, isHigh, band);
    const to = bandBorder(header, isHigh, band + 1);
    let sum: f32 = 0;
    for (let subband = from; subband < to; subband++) sum += load<f32>(current + 4 * subband);
    fill(current, from, to, sum / f32(max(to - from, 1)));
  }
}

function energyOf(subband: i32, start: i32, stop: i32): f32 {
  const re: usize = HIGH_BYTE + BAND_BYTES * subband;
  const im = re + PART_BYTES;
  let sums = f32x4.splat(0);
  let slot = start;
  for (; slot + 4 <= stop; slot += 4) {
    const a = v128.load(re + 4 * slot);
    const b = v128.load(im + 4 * slot);
    sums = f32x4.add(sums, f32x4.add(f32x4.mul(a, a), f32x4.mul(b, b)));
  }
  let sum =
    f32x4.extract_lane(sums, 0) +
    f32x4.extract_lane(sums, 1) +
    f32x4.extract_lane(sums, 2) +
    f32x4.extract_lane(sums, 3);
  for (; slot < stop; slot++) {
    const a = load<f32>(re + 4 * slot);
    const b = load<f32>(im + 4 * slot);
    sum += a * a + b * b;
  }
  return sum;
}

function limitGains(header: usize, replica: usize, envelope: i32, limit: i32): void {
  const first = fact(header, FIRST);
  const from: usize = 4 * (entry(header, LIMIT_TABLE, limit) - first);
  const to: usize = 4 * (entry(header, LIMIT_TABLE, limit + 1) - first);
  const isTransient = envelope === fact(replica, TRANSIENT) || envelope === fact(replica, OLD_TRANSIENT);
  const wanted = mapAt(WANTED, envelope);
  const noise = mapAt(NOISE, envelope);
  const current = mapAt(CURRENT, envelope);
  const gains = mapAt(GAIN, envelope);
  const noiseGains = mapAt(NOISE_GAIN, envelope);
  const sineGains = mapAt(SINE_GAIN, envelope);
  let wantedSum: f32 = 0;
  let currentSum: f32 = 0;
  for (let at = from; at < to; at += 4) {
    const energy = load<f32>(wanted + at);
    const share = load<f32>(noise + at);
    const measured = load<f32>(current + at);
    const noisy = energy / (1 + share);
    store<f32>(noiseGains + at, Mathf.sqrt(noisy * share));
    store<f32>(sineGains + at, load<f32>(mapAt(SINE, envelope) + at) !== 0 ? Mathf.sqrt(noisy) : 0);
    const tonal: f32 = load<f32>(gains + at) !== 0 ? noisy * share : isTransient ? energy : noisy;
    store<f32>(gains + at, Mathf.sqrt(tonal / (1 + measured)));
    wantedSum += energy;
    currentSum += measured;
  }
  const code = fact(header, LIMITER_GAIN);
  const factor: f32 = code === 0 ? 0.70795 : code === 1 ? 1 : code === 2 ? 1.41254 : 1e10;
  const most = min(GAIN_MAX, factor * Mathf.sqrt((TINY + wantedSum) / (TINY + currentSum)));
  let reached: f32 = 0;
  for (let at = from; at < to; at += 4) {
    const gain = load<f32>(gains + at);
    let noiseGain = load<f32>(noiseGains + at);
    if (gain > most) noiseGain *= most / gain;
    const limited = min(gain, most);
    store<f32>(noiseGains + at, noiseGain);
    store<f32>(gains + at, limited);
    const sine = load<f32>(sineGains + at);
    reached += load<f32>(current + at) * limited * limited + sine * sine;
    if (!isTransient && sine === 0) reached += noiseGain * noiseGain;
  }
  const boost = min(BOOST_MAX, Mathf.sqrt((TINY + wantedSum) / (TINY + reached)));
  for (let at = from; at < to; at += 4) {
    store<f32>(gains + at, load<f32>(gains + at) * boost);
    store<f32>(noiseGains + at, load<f32>(noiseGains + at) * boost);
    store<f32>(sineGains + at, load<f32>(sineGains + at) * boost);
  }
}
