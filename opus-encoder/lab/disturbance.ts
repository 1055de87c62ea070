// The first measure: how far the coding noise exceeds what the music masks, and how its modulation is changed. The
// noise-to-mask ratio, modulation difference, and detection of ITU-R BS.1387-1, basic version (annex 2, sections 4.3,
// 4.5 and 4.7), on ear-model.ts. Lab only.

import { BAND_COUNT, BIN_COUNT, gatherBands, INNER_NOISE, MASK_SHARE } from "./ear-bands.ts";
import type { Sensation } from "./ear-model.ts";

/** The audible difference; of each measure, less is better. */
interface Disturbance {
  /** Noise against the masking threshold, mean power over bands, windows and channels, dB. */
  readonly noiseToMaskDb: number;
  /** The noise-to-mask ratio of each window, as a factor. */
  readonly noiseToMask: Float64Array;
  /** Percent by which the modulation of loudness differs, mean over bands and windows, weighted by level. */
  readonly modulationDifference: number;
  /** By how many just audible steps the excitation is off, mean of all windows. */
  readonly audibleSteps: number;
  /** Share of the windows in which some band's noise exceeds the mask by 1.5 dB. */
  readonly disturbedShare: number;
}

/** Compares both channels in some windows; both signals are aligned. */
export function disturbanceOf(
  reference: readonly [Sensation, Sensation],
  coded: readonly [Sensation, Sensation],
  { from, to }: { readonly from: number; readonly to: number },
): Disturbance {
  const windowCount = to - from;
  const noiseToMask = new Float64Array(windowCount);
  let [disturbed, steps, modulation, modulationWeight] = [0, 0, 0, 0];
  for (let window = 0; window < windowCount; window++) {
    let highest = 0;
    for (const side of [0, 1] as const) {
      const noise = maskedNoise(reference[side], coded[side], from + window);
      noiseToMask[window]! += noise.mean / 2;
      highest = Math.max(highest, noise.highest);
      const moved = modulationChange(reference[side], coded[side], from + window);
      modulation += moved.weight * moved.percent;
      modulationWeight += moved.weight;
    }
    if (highest > DISTURBED_FACTOR) disturbed += 1;
    steps += stepsBetween(reference, coded, from + window);
  }
  const mean = noiseToMask.reduce((sum, value) => sum + value, 0) / windowCount;
  return {
    noiseToMaskDb: 10 * Math.log10(Math.max(mean, 1e-12)),
    noiseToMask,
    modulationDifference: modulation / Math.max(modulationWeight, 1e-12),
    audibleSteps: steps / windowCount,
    disturbedShare: disturbed / windowCount,
  };
}

/** 1.5 dB. */
const DISTURBED_FACTOR = 10 ** 0.15;

const noisePower = new Float64Array(BIN_COUNT);
const noiseBands = new Float64Array(BAND_COUNT);

function maskedNoise(reference: Sensation, coded: Sensation, window: number): { mean: number; highest: number } {
  for (let bin = 0, at = window * BIN_COUNT; bin < BIN_COUNT; bin++, at++) {
    const difference = Math.sqrt(reference.power[at]!) - Math.sqrt(coded.power[at]!);
    noisePower[bin] = difference * difference;
  }
  gatherBands(noisePower, 0, noiseBands);
  let [sum, highest] = [0, 0];
  for (let band = 0, at = window * BAND_COUNT; band < BAND_COUNT; band++, at++) {
    const ratio = noiseBands[band]! / (MASK_SHARE[band]! * reference.masking[at]!);
    sum += ratio;
    if (ratio > highest) highest = ratio;
  }
  return { mean: sum / BAND_COUNT, highest };
}

const NOISE_LOUDNESS = INNER_NOISE.map((power) => 100 * power ** 0.3);

function modulationChange(reference: Sensation, coded: Sensation, window: number): { percent: number; weight: number } {
  let [sum, weight] = [0, 0];
  for (let band = 0, at = window * BAND_COUNT; band < BAND_COUNT; band++, at++) {
    const before = reference.modulation[at]!;
    sum += Math.abs(coded.modulation[at]! - before) / (1 + before);
    const loudness = reference.loudness[at]!;
    weight += loudness / (loudness + NOISE_LOUDNESS[band]!);
  }
  return { percent: (100 * sum) / BAND_COUNT, weight };
}

/** The worse channel of each band, summed. */
function stepsBetween(
  reference: readonly [Sensation, Sensation],
  coded: readonly [Sensation, Sensation],
  window: number,
): number {
  let steps = 0;
  for (let band = 0, at = window * BAND_COUNT; band < BAND_COUNT; band++, at++) {
    steps += Math.max(
      stepsOf(reference[0].excitation[at]!, coded[0].excitation[at]!),
      stepsOf(reference[1].excitation[at]!, coded[1].excitation[at]!),
    );
  }
  return steps;
}

function stepsOf(reference: number, coded: number): number {
  const [before, after] = [10 * Math.log10(reference), 10 * Math.log10(coded)];
  const level = 0.3 * Math.max(before, after) + 0.7 * after;
  if (level <= 0) return 0;
  const stepDb =
    5.95072 * (6.39468 / level) ** 1.71332 +
    9.01033e-11 * level ** 4 +
    5.05622e-6 * level ** 3 -
    0.00102438 * level ** 2 +
    0.0550197 * level -
    0.198719;
  // Whole steps only: less is not audible.
  return Math.trunc(Math.abs(before - after)) / stepDb;
}
