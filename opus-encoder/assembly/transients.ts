// Finds frames with an onset: one long block would smear it over the quiet audio before it. Energies of the high-passed
// audio are smoothed as the ear masks, forwards and backwards; where they are far from even, the frame is coded as
// short blocks. Both channels at once, in lanes 0 and 1. AssemblyScript.

import { F32_BYTES, VECTOR_BYTES } from "../src/numbers.ts";
import { BANDS, OVERLAP_SAMPLES, PITCH_PAST_SAMPLES } from "./format.ts";
import { floatAt, setFloat } from "./lists.ts";
import { BAND_SPARE, BANDS_BYTES, LEVELS, SPARE, UNFILTERED, UNFILTERED_BYTES } from "./memory-map.ts";
import { oldLevels } from "./slot.ts";

/** Groups of four samples that are examined: the frame and its overlap with the one before. */
const GROUPS: usize = 270;
/** At the beginning the filter has not settled. */
const UNSETTLED_GROUPS: usize = 3;
/**
 * How much masking remains from one group to the next: after a sound it falls by 6.7 dB in a millisecond, before one by
 * 13.9.
 */
const FORWARD_RETAINED: f32 = 0.87890625;
const BACKWARD_RETAINED: f32 = 0.765625;
/** So that steady audio masks as much as it has in two samples. */
const FORWARD_SCALE: f32 = 0.5 * (1 - FORWARD_RETAINED);
const BACKWARD_SCALE: f32 = 1 - BACKWARD_RETAINED;
/** Threshold of a transient; 1 would be perfectly even, times 64. */
const UNEVENNESS_MIN: f32 = 200;

let unevenness: f32 = 0;
let channelOfMost: i32 = 0;

/** True when the frame is better coded as short blocks. */
export function findTransient(channels: i32): bool {
  const totals = smoothForwards(channels);
  const peaks = smoothBackwards();
  unevenness = 0;
  channelOfMost = 0;
  for (let channel = 0; channel < channels; channel++) {
    const total = channel === 0 ? f32x4.extract_lane(totals, 0) : f32x4.extract_lane(totals, 1);
    const peak = channel === 0 ? f32x4.extract_lane(peaks, 0) : f32x4.extract_lane(peaks, 1);
    const found = unevennessOf(channel, total, peak);
    if (found > unevenness) {
      unevenness = found;
      channelOfMost = channel;
    }
  }
  return unevenness > UNEVENNESS_MIN;
}

/** How strongly the frame is a transient, 0 to 1: for the rate, and for choices that depend on time. */
export function transientStrength(): f32 {
  const above: f32 = max<f32>(0, Mathf.sqrt(27 * unevenness) - 42);
  return Mathf.sqrt(max<f32>(0, 0.0069 * min<f32>(163, above) - 0.139));
}

/** The channel that is farthest from even. */
export function transientChannel(): i32 {
  return channelOfMost;
}

/**
 * Compares sums of the levels: a frame whose bands are all much louder than in the one before begins something, too.
 */
export function hasIncreased(channels: i32): bool {
  const spread = BAND_SPARE;
  for (let band = 0; band < BANDS; band++) {
    const own = loudestOld(channels, band);
    setFloat(spread, band, band === 0 ? own : max(own, floatAt(spread, band - 1) - 1));
  }
  for (let band = BANDS - 2; band >= 0; band--) {
    setFloat(spread, band, max(floatAt(spread, band), floatAt(spread, band + 1) - 1));
  }
  let increase: f32 = 0;
  for (let channel = 0; channel < channels; channel++) {
    for (let band = 2; band < BANDS - 1; band++) {
      const now: f32 = max<f32>(0, floatAt(LEVELS + usize(channel) * BANDS_BYTES, band));
      increase += max<f32>(0, now - max<f32>(0, floatAt(spread, band)));
    }
  }
  return increase > f32(channels * (BANDS - 3));
}

function loudestOld(channels: i32, band: i32): f32 {
  const left = floatAt(oldLevels(0), band);
  return channels === 1 ? left : max(left, floatAt(oldLevels(1), band));
}

/**
 * Writes a vector per group of four samples to SPARE: how earlier audio masks it. Returns the sums of their energies.
 */
function smoothForwards(channels: i32): v128 {
  const left = UNFILTERED + F32_BYTES * (PITCH_PAST_SAMPLES - OVERLAP_SAMPLES);
  const right: usize = channels === 1 ? left : left + UNFILTERED_BYTES;
  const keep = f32x4.splat(FORWARD_RETAINED);
  const scale = f32x4.splat(FORWARD_SCALE);
  let totals = f32x4.splat(0);
  let masking = f32x4.splat(0);
  let passedLeft = f32x4.splat(0);
  let passedRight = f32x4.splat(0);
  for (let group: usize = 0; group < GROUPS; group++) {
    const at = group * VECTOR_BYTES;
    passedLeft = highPass(left + at, passedLeft);
    passedRight = highPass(right + at, passedRight);
    const squaresLeft = f32x4.mul(passedLeft, passedLeft);
    const squaresRight = f32x4.mul(passedRight, passedRight);
    // Two sums of both sides each; then one each in lanes 0 and 1.
    const halves = f32x4.add(
      f32x4.shuffle(squaresLeft, squaresRight, 0, 4, 1, 5),
      f32x4.shuffle(squaresLeft, squaresRight, 2, 6, 3, 7),
    );
    if (group >= UNSETTLED_GROUPS) {
      const energies = f32x4.add(halves, f32x4.shuffle(halves, halves, 2, 3, 0, 1));
      totals = f32x4.add(totals, energies);
      masking = f32x4.add(energies, f32x4.mul(keep, masking));
    }
    v128.store(SPARE + at, f32x4.mul(scale, masking));
  }
  return totals;
}

/**
 * (1 - 2z + zz) / (1 - z + zz / 2) of four samples, where z is the sample before. With both parts times 1 + z + zz / 2
 * it works on whole vectors: (1 - z - zz / 2 + zzzz / 2) / (1 + zzzz / 4).
 */
function highPass(at: usize, passed: v128): v128 {
  const half = f32x4.splat(0.5);
  const near = f32x4.sub(v128.load(at), v128.load(at - F32_BYTES));
  const far = f32x4.mul(half, f32x4.sub(v128.load(at - 4 * F32_BYTES), v128.load(at - 2 * F32_BYTES)));
  return f32x4.sub(f32x4.add(near, far), f32x4.mul(f32x4.splat(0.25), passed));
}

/** Adds, in place, how later audio masks each group. Returns the highest of each channel. */
function smoothBackwards(): v128 {
  const keep = f32x4.splat(BACKWARD_RETAINED);
  const scale = f32x4.splat(BACKWARD_SCALE);
  let masking = f32x4.splat(0);
  let peaks = f32x4.splat(0);
  for (let address = SPARE + VECTOR_BYTES * (GROUPS - 1); address >= SPARE; address -= VECTOR_BYTES) {
    masking = f32x4.add(v128.load(address), f32x4.mul(keep, masking));
    const smooth = f32x4.mul(scale, masking);
    peaks = f32x4.max(peaks, smooth);
    v128.store(address, smooth);
  }
  return peaks;
}

/** The mean energy (between its sum and its peak) over the harmonic mean of what masks. Every second group will do. */
function unevennessOf(channel: i32, total: f32, peak: f32): f32 {
  const pairs: f32 = 2 * f32(GROUPS);
  const mean = Mathf.sqrt(total * peak * 0.5 * pairs);
  const unit: f32 = (64 * pairs) / (1e-15 + 0.5 * mean);
  let sum: f32 = 0;
  const end = SPARE + VECTOR_BYTES * (GROUPS - 3) + F32_BYTES * usize(channel);
  for (
    let address = SPARE + VECTOR_BYTES * 6 + F32_BYTES * usize(channel);
    address < end;
    address += 2 * VECTOR_BYTES
  ) {
    sum += 384 / max<f32>(1.5, unit * load<f32>(address));
  }
  return (64 * 4 * sum) / (6 * (pairs - 17));
}
