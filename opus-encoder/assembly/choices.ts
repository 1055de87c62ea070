// Smaller choices of a frame: how peaks are spread, how the allocation is tilted, and how two channels are coded.
// AssemblyScript.

import { VECTOR_BYTES } from "../src/numbers.ts";
import { log2 } from "./approximations.ts";
import { BANDS, bandByte, bandWidth, edge, SHORT_BLOCKS_LOG } from "./format.ts";
import { dot, floatAt, intAt, sumOfLanes } from "./lists.ts";
import { BANDS_BYTES, CHANNEL_BYTES, LEVELS, SHAPES, SPREAD_WEIGHTS } from "./memory-map.ts";
import { retained, retainedFloat, setRetained, setRetainedFloat } from "./retained.ts";
import { INTENSITY, SPREAD, SPREAD_AVERAGE, STEREO_SAVING, TAPS_AVERAGE, TAPS_CHOICE } from "./slot.ts";

/** Rates in kbit/s above which one band more keeps its stereo; how far beyond it has to be to change. */
const INTENSITY_RATES = memory.data<u8>([1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 36, 44, 50, 56, 62, 67, 72, 79, 88, 106, 134]);
const INTENSITY_INERTIA = memory.data<u8>([1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 4, 5, 6, 8, 8]);
/** Bands up to 3.2 kHz. */
const STEREO_BANDS: i32 = 13;

/** 0 (not at all) to 3, by how peaky the shapes are; with some inertia. */
export function chooseSpread(channels: i32, isPitchFiltered: bool): i32 {
  let sum = 0;
  let weights = 0;
  let flatness = 0;
  for (let channel = 0; channel < channels; channel++) {
    for (let band = 0; band < BANDS; band++) {
      const length = bandWidth(band) << SHORT_BLOCKS_LOG;
      if (length <= 8) continue;
      const shape = SHAPES + usize(channel) * CHANNEL_BYTES + bandByte(band);
      const small = countBelow(shape, length, 0.25);
      const smaller = countBelow(shape, length, 0.0625);
      const smallest = countBelow(shape, length, 0.015625);
      if (band > BANDS - 4) flatness += (32 * (small + smaller)) / length;
      const peaks = i32(2 * smallest >= length) + i32(2 * smaller >= length) + i32(2 * small >= length);
      const weight = intAt(SPREAD_WEIGHTS, band);
      sum += peaks * weight;
      weights += weight;
    }
  }
  if (isPitchFiltered) chooseTaps(flatness / (4 * channels));
  const average = ((sum << 8) / max(1, weights) + retained(SPREAD_AVERAGE)) >> 1;
  setRetained(SPREAD_AVERAGE, average);
  const steady = (3 * average + (((3 - retained(SPREAD)) << 7) + 64) + 2) >> 2;
  return steady < 80 ? 3 : steady < 256 ? 2 : steady < 384 ? 1 : 0;
}

/** Which taps the pitch filter of the next frame has. */
function chooseTaps(flatness: i32): void {
  const average = (retained(TAPS_AVERAGE) + flatness) >> 1;
  setRetained(TAPS_AVERAGE, average);
  const choice = retained(TAPS_CHOICE);
  const steady = average + (choice === 2 ? 4 : choice === 0 ? -4 : 0);
  setRetained(TAPS_CHOICE, steady > 22 ? 2 : steady > 18 ? 1 : 0);
}

/** Samples with less than this part of the mean energy. */
function countBelow(shape: usize, length: i32, part: f32): i32 {
  const limit = f32x4.splat(part / f32(length));
  let counts = i32x4.splat(0);
  const end = shape + (usize(length) << 2);
  do {
    const x = v128.load(shape);
    counts = i32x4.sub(counts, f32x4.lt(f32x4.mul(x, x), limit));
    shape += VECTOR_BYTES;
  } while (shape < end);
  const halves = i32x4.add(counts, i32x4.shuffle(counts, counts, 2, 3, 0, 1));
  return i32x4.extract_lane(halves, 0) + i32x4.extract_lane(halves, 1);
}

/** 0 (more for high bands) to 10 (more for low ones); 5 is neutral. `rate` in bits per second. */
export function chooseTilt(channels: i32, rate: i32, strength: f32): i32 {
  let tilt: f32 = 5.25;
  if (rate < 64_000) tilt = 4.25;
  else if (rate < 80_000) tilt = 4.25 + f32((rate - 64_000) >> 10) / 16;
  if (channels === 2) tilt += tiltForStereo();
  let slope: f32 = 0;
  for (let channel = 0; channel < channels; channel++) {
    for (let band = 0; band < BANDS - 1; band++) {
      slope += floatAt(LEVELS + usize(channel) * BANDS_BYTES, band) * f32(i32(2) + i32(2) * band - BANDS);
    }
  }
  slope /= f32(channels * (BANDS - 1));
  tilt -= max<f32>(-2, min<f32>(2, (slope + 1) / 6));
  tilt -= 1.5 * strength;
  return max(0, min(10, i32(Mathf.floor(0.5 + tilt))));
}

/** When both channels are very similar, low bands save bits. Stores how much in all. */
function tiltForStereo(): f32 {
  let sum: f32 = 0;
  for (let band = 0; band < 8; band++) sum += likeness(band);
  sum = min<f32>(1, abs(sum / 8));
  let least = sum;
  for (let band = 8; band < retained(INTENSITY); band++) least = min(least, abs(likeness(band)));
  least = min<f32>(1, abs(least));
  const saving = log2(1.001 - sum * sum);
  const sureSaving: f32 = max<f32>(0.5 * saving, log2(1.001 - least * least));
  setRetainedFloat(STEREO_SAVING, min<f32>(retainedFloat(STEREO_SAVING) + 0.25, -0.5 * sureSaving));
  return max<f32>(-4, 0.75 * saving);
}

function likeness(band: i32): f32 {
  const shape = SHAPES + bandByte(band);
  return dot(shape, shape + CHANNEL_BYTES, bandWidth(band) << SHORT_BLOCKS_LOG);
}

/** The band from which on stereo is intensity only, by the rate in bits per second. */
export function chooseIntensity(rate: i32): i32 {
  const before = retained(INTENSITY);
  const kbps = rate / 1000;
  let band = 0;
  while (band < BANDS && kbps >= i32(load<u8>(INTENSITY_RATES + usize(band)))) band++;
  if (band > before && kbps < rateAt(before) + inertiaAt(before)) band = before;
  if (band < before && kbps > rateAt(before - 1) - inertiaAt(before - 1)) band = before;
  setRetained(INTENSITY, band);
  return band;
}

function rateAt(band: i32): i32 {
  return load<u8>(INTENSITY_RATES + usize(band));
}

function inertiaAt(band: i32): i32 {
  return load<u8>(INTENSITY_INERTIA + usize(band));
}

/** True when left and right are sparser than middle and side. */
export function isDualBetter(): bool {
  let sides = f32x4.splat(1e-15);
  let sums = f32x4.splat(1e-15);
  const end = SHAPES + bandByte(STEREO_BANDS);
  for (let address = SHAPES; address < end; address += VECTOR_BYTES) {
    const l = v128.load(address);
    const r = v128.load(address + CHANNEL_BYTES);
    sides = f32x4.add(sides, f32x4.add(f32x4.abs(l), f32x4.abs(r)));
    sums = f32x4.add(sums, f32x4.add(f32x4.abs(f32x4.add(l, r)), f32x4.abs(f32x4.sub(l, r))));
  }
  const samples = f32(edge(STEREO_BANDS) << (SHORT_BLOCKS_LOG + 1));
  return (samples + f32(STEREO_BANDS)) * 0.70710677 * sumOfLanes(sums) > samples * sumOfLanes(sides);
}
