// The pitch filter (RFC 6716 section 4.3.7.1): removes the periodic part of the audio before it is coded, and the
// decoder restores it, so that noise follows the tone. Fills SIGNAL. AssemblyScript.

import { F32_BYTES, FRAME_SAMPLES, PERIOD_MIN, VECTOR_BYTES } from "../src/numbers.ts";
import { bitLength } from "./approximations.ts";
import { measureBands } from "./band-levels.ts";
import { BANDS, OVERLAP_SAMPLES, PITCH_PAST_SAMPLES } from "./format.ts";
import { toSpectra } from "./lapped-transform.ts";
import { floatAt } from "./lists.ts";
import {
  BANDS_BYTES,
  CHANNEL_BYTES,
  LEVELS,
  LONG_LEVELS,
  SHAPES,
  SIGNAL,
  SIGNAL_BYTES,
  SPECTRUM,
  UNFILTERED,
  UNFILTERED_BYTES,
  WINDOW,
} from "./memory-map.ts";
import { findPeriod, periodLikeness } from "./pitch-search.ts";
import { GAIN_STEP, repeated } from "./pitch-taps.ts";
import { encodeBit, encodeNumber, encodeOf, encodeRaw } from "./range-encoder.ts";
import { retained, retainedFloat, setRetained, setRetainedFloat } from "./retained.ts";
import { IS_UNLIKE, PITCH_GAIN, PITCH_PERIOD, PITCH_TAPS, retainedOverlap, TAPS_CHOICE } from "./slot.ts";
import { TAPS_BITS, TAPS_PROBABILITIES } from "./symbols.ts";

/** Share of the predicted part that is removed. */
const CAUTION: f32 = 0.7;
/** Where the old filter and the new one overlap. */
const SLOPE_BYTES: usize = F32_BYTES * OVERLAP_SAMPLES;
/** Audio that is less similar to the past than this counts as not periodic. */
const UNLIKE: f32 = 0.3;
/** Share of the gain by which bands must become softer, binary logarithms. */
const WORTH: f32 = 0.35;
/** Less than this is not worth it; more where the period has just changed, less where the filter has long been on. */
const GAIN_MIN: f32 = 0.2;
/** A transient this strong ends any period. */
const STRONG_TRANSIENT: f32 = 0.98;

let period: i32 = PERIOD_MIN;
let gainStep: i32 = -1;
let isKnown: bool = false;
/** Values for the next frame; see `setNextPitchFilter`. */
let givenPeriod: i32 = -1;
let givenGainStep: i32 = 0;
let givenTaps: i32 = 0;

/** True when the filter of this frame is on. */
export function isPitchFiltered(): bool {
  return gainStep >= 0;
}

/** True when the long spectrum and its levels have been computed during the search. */
export function isSpectrumKnown(): bool {
  return isKnown;
}

/**
 * Chooses the filter, or takes the given one, and runs it; none unless `mayFilter`. `bytes`: the frame's size limit.
 */
export function filterPitch(channels: i32, mayFilter: bool, strength: f32, bytes: i32): void {
  gainStep = -1;
  period = max(retained(PITCH_PERIOD), PERIOD_MIN);
  isKnown = false;
  if (givenPeriod < 0) choosePitch(channels, mayFilter, strength, bytes);
  else if (mayFilter) takeGivenFilter();
  if (gainStep >= 0 && givenPeriod < 0) runIfWorthwhile(channels);
  else runFilter(channels);
  keepOverlaps(channels);
}

function choosePitch(channels: i32, mayFilter: bool, strength: f32, bytes: i32): void {
  // After a frame without a period, only every second frame is searched; and after an independent frame not the next
  // one, as a period may be longer than a frame.
  const isSkipped = retainedFloat(PITCH_GAIN) === 0 && retained(IS_UNLIKE) !== 0;
  setRetained(IS_UNLIKE, mayFilter ? 0 : 1);
  if (!mayFilter || isSkipped) return;
  period = findPeriod(channels);
  gainStep = stepFor(CAUTION * periodLikeness(), strength, bytes);
  setRetained(IS_UNLIKE, i32(periodLikeness() < UNLIKE));
}

/** Period 0: no filter; below 0: the filter is chosen. */
export function setNextPitchFilter(samples: i32, step: i32, taps: i32): void {
  givenPeriod = samples;
  givenGainStep = step;
  givenTaps = taps;
}

function takeGivenFilter(): void {
  if (givenPeriod === 0) return;
  period = givenPeriod;
  gainStep = givenGainStep;
  setRetained(TAPS_CHOICE, givenTaps);
}

function keepOverlaps(channels: i32): void {
  for (let channel = 0; channel < channels; channel++) {
    const signal = SIGNAL + usize(channel) * SIGNAL_BYTES;
    memory.copy(retainedOverlap(channel), signal + F32_BYTES * FRAME_SAMPLES, SLOPE_BYTES);
  }
}

/** Codes the choice, and stores it for the next frame. */
export function codePitch(): void {
  encodeBit(gainStep >= 0, 1);
  const taps = retained(TAPS_CHOICE);
  if (gainStep >= 0) {
    const octave = bitLength(u32(period + 1)) - 5;
    encodeNumber(u32(octave), 6);
    encodeRaw(u32(period + 1 - (16 << octave)), 4 + octave);
    encodeRaw(u32(gainStep), 3);
    encodeOf(taps, TAPS_PROBABILITIES, TAPS_BITS);
  }
  rememberPitch();
}

export function rememberPitch(): void {
  setRetained(PITCH_PERIOD, period);
  setRetainedFloat(PITCH_GAIN, gainNow());
  setRetained(PITCH_TAPS, retained(TAPS_CHOICE));
}

function gainNow(): f32 {
  return GAIN_STEP * f32(gainStep + 1);
}

/** -1: off. */
function stepFor(gain: f32, strength: f32, bytes: i32): i32 {
  const before = retainedFloat(PITCH_GAIN);
  let least = GAIN_MIN;
  if (abs(period - retained(PITCH_PERIOD)) * 10 > period) {
    if (strength > STRONG_TRANSIENT) return -1;
    least += 0.2;
  }
  if (bytes < 25) least += 0.1;
  if (bytes < 35) least += 0.1;
  if (before > 0.4) least -= 0.1;
  if (before > 0.55) least -= 0.1;
  if (gain < max(least, GAIN_MIN)) return -1;
  const steady = abs(gain - before) < 0.1 ? before : gain;
  return max(0, min(7, i32(Mathf.floor(0.5 + steady / GAIN_STEP)) - 1));
}

/** Cross-fades from the previous frame's filter to this one's. */
function runFilter(channels: i32): void {
  const oldGain = retainedFloat(PITCH_GAIN);
  const gain = gainNow();
  for (let channel = 0; channel < channels; channel++) {
    const signal = SIGNAL + usize(channel) * SIGNAL_BYTES;
    memory.copy(signal, retainedOverlap(channel), SLOPE_BYTES);
    const to = signal + SLOPE_BYTES;
    const from = UNFILTERED + usize(channel) * UNFILTERED_BYTES + F32_BYTES * PITCH_PAST_SAMPLES;
    if (oldGain === 0 && gain === 0) {
      memory.copy(to, from, CHANNEL_BYTES);
      continue;
    }
    crossFilter(from, to, oldGain, gain);
    filterOut(from + SLOPE_BYTES, to + SLOPE_BYTES, to + CHANNEL_BYTES, period, gain, retained(TAPS_CHOICE));
  }
}

/** Filters the first samples: the old filter fades out and the new one in with the square of the window. */
function crossFilter(from: usize, to: usize, oldGain: f32, gain: f32): void {
  const oldPeriod = max(retained(PITCH_PERIOD), PERIOD_MIN);
  const one = f32x4.splat(1);
  for (let at: usize = 0; at < SLOPE_BYTES; at += VECTOR_BYTES) {
    const window = v128.load(WINDOW + at);
    const rising = f32x4.mul(window, window);
    const before = f32x4.mul(f32x4.sub(one, rising), repeated(from + at, oldPeriod, oldGain, retained(PITCH_TAPS)));
    const after = f32x4.mul(rising, repeated(from + at, period, gain, retained(TAPS_CHOICE)));
    v128.store(to + at, f32x4.sub(v128.load(from + at), f32x4.add(before, after)));
  }
}

function filterOut(from: usize, to: usize, end: usize, lag: i32, gain: f32, taps: i32): void {
  while (to < end) {
    v128.store(to, f32x4.sub(v128.load(from), repeated(from, lag, gain, taps)));
    from += VECTOR_BYTES;
    to += VECTOR_BYTES;
  }
}

/**
 * Runs the chosen filter if bands on the whole become softer by more than noise becomes louder when the decoder
 * restores the tone, and none otherwise. Leaves the long spectrum and its levels.
 */
function runIfWorthwhile(channels: i32): void {
  const chosen = gainStep;
  runFilter(channels);
  toSpectra(channels, SHAPES, false);
  measureBands(channels, SHAPES, LEVELS);
  gainStep = -1;
  runFilter(channels);
  toSpectra(channels, SPECTRUM, false);
  measureBands(channels, SPECTRUM, LONG_LEVELS);
  isKnown = true;
  let softer: f32 = 0;
  for (let channel = 0; channel < channels; channel++) {
    const address = usize(channel) * BANDS_BYTES;
    for (let band = 0; band < BANDS; band++) {
      softer += floatAt(LONG_LEVELS + address, band) - floatAt(LEVELS + address, band);
    }
  }
  if (softer <= WORTH * GAIN_STEP * f32(chosen + 1) * f32(channels * BANDS)) return;
  gainStep = chosen;
  runFilter(channels);
  memory.copy(SPECTRUM, SHAPES, CHANNEL_BYTES * usize(channels));
  measureBands(channels, SPECTRUM, LONG_LEVELS);
}
