// The second measure, of another kind: the similarity of the pictures of two signals. Spectrograms of both channels
// through gammatone bands a step of ERB apart, compared point by point by their local mean and structure: the neurogram
// similarity of A. Hines and N. Harte ("Speech intelligibility prediction using a Neurogram Similarity Index Measure",
// 2012) as ViSQOLAudio uses it (A. Hines et al., JASA 2015). Windows are shorter than there, so that a pre-echo of a
// beat is seen, and levels below the threshold of hearing (E. Terhardt, 1979) are left out. Lab only.

import { Fourier } from "../../lab/listen/fourier.ts";
import { SAMPLE_RATE_HZ } from "../../src/media/format/audio-format.ts";
import type { Stereo } from "./ear-model.ts";

const PICTURE_WINDOW_SAMPLES = 1024;
/** Samples from one column of the picture to the next. */
export const PICTURE_HOP_SAMPLES = 512;
const PICTURE_BINS = PICTURE_WINDOW_SAMPLES / 2 + 1;
const LOWEST_HZ = 50;
const HIGHEST_HZ = 16_000;
/** Assumed level of a full-scale sine, dB SPL. */
const PLAYED_DB = 92;
/** Below the loudest band of the column: quieter levels count as masked. */
const COLUMN_RANGE_DB = 45;
/** The range from which the constants of the index are derived, dB. */
const INTENSITY_RANGE_DB = 60;
const MEAN_CONSTANT = (0.01 * INTENSITY_RANGE_DB) ** 2;
const STRUCTURE_CONSTANT = (0.03 * INTENSITY_RANGE_DB) ** 2 / 2;
/** Weights of a point's neighbours, in time and in frequency. */
const [MIDDLE, BESIDE] = [0.787, 0.1065];

interface GammatoneBand {
  readonly firstBin: number;
  readonly weights: Float64Array;
  /** Threshold of hearing, dB of full scale. */
  readonly thresholdDb: number;
}

const BANDS: readonly GammatoneBand[] = gammatoneBands();
const ROWS = BANDS.length;

/** Levels of both channels in dB of full scale, column after column, lowest band first. */
export interface Picture {
  readonly columnCount: number;
  /** Bands of each column. */
  readonly bandCount: number;
  readonly levels: readonly [Float32Array, Float32Array];
}

/** Paints pictures; one instance serves all signals. */
export class Painter {
  readonly #fourier = new Fourier(PICTURE_WINDOW_SAMPLES);
  readonly #window = Float64Array.from(
    { length: PICTURE_WINDOW_SAMPLES },
    (_, at) => Math.sin((Math.PI * (at + 0.5)) / PICTURE_WINDOW_SAMPLES) ** 2,
  );
  readonly #real = new Float64Array(PICTURE_WINDOW_SAMPLES);
  readonly #imaginary = new Float64Array(PICTURE_WINDOW_SAMPLES);
  readonly #powers = [new Float64Array(PICTURE_BINS), new Float64Array(PICTURE_BINS)] as const;

  /** The picture of all whole windows of the signal. */
  paint([left, right]: Stereo): Picture {
    const columnCount = Math.max(0, Math.floor((left.length - PICTURE_WINDOW_SAMPLES) / PICTURE_HOP_SAMPLES) + 1);
    const levels = [new Float32Array(columnCount * ROWS), new Float32Array(columnCount * ROWS)] as const;
    const [real, imaginary] = [this.#real, this.#imaginary];
    for (let column = 0; column < columnCount; column++) {
      for (let at = 0, from = column * PICTURE_HOP_SAMPLES; at < PICTURE_WINDOW_SAMPLES; at++, from++) {
        real[at] = left[from]! * this.#window[at]!;
        imaginary[at] = right[from]! * this.#window[at]!;
      }
      this.#fourier.transform(real, imaginary);
      this.#takePowers();
      takeLevels(this.#powers[0], levels[0], column * ROWS);
      takeLevels(this.#powers[1], levels[1], column * ROWS);
    }
    return { columnCount, bandCount: ROWS, levels };
  }

  #takePowers(): void {
    const [real, imaginary, [left, right]] = [this.#real, this.#imaginary, this.#powers];
    // A sine at full scale is 1 in its bin.
    const scale = (2 / PICTURE_WINDOW_SAMPLES) ** 2;
    for (let bin = 0; bin < PICTURE_BINS; bin++) {
      const mirror = (PICTURE_WINDOW_SAMPLES - bin) % PICTURE_WINDOW_SAMPLES;
      left[bin] = scale * ((real[bin]! + real[mirror]!) ** 2 + (imaginary[bin]! - imaginary[mirror]!) ** 2);
      right[bin] = scale * ((imaginary[bin]! + imaginary[mirror]!) ** 2 + (real[mirror]! - real[bin]!) ** 2);
    }
  }
}

/**
 * How dissimilar each column of `coded` is to `reference`: 0 the same, 1 nothing in common, mean over bands and
 * channels. The first and the last column have no neighbours and are 0.
 */
export function dissimilarityOf(reference: Picture, coded: Picture): Float64Array {
  const columnCount = Math.min(reference.columnCount, coded.columnCount);
  const result = new Float64Array(columnCount);
  for (const side of [0, 1] as const) {
    const floors = floorsOf(reference, side);
    const first = clippedAt(floors, reference.levels[side]);
    const second = clippedAt(floors, coded.levels[side]);
    for (let column = 1; column < columnCount - 1; column++) {
      let sum = 0;
      for (let row = 1; row < ROWS - 1; row++) sum += 1 - similarityAt(first, second, column * ROWS + row);
      result[column]! += sum / (ROWS - 2) / 2;
    }
  }
  return result;
}

/** The level below which each point of the reference's picture is inaudible. */
function floorsOf({ columnCount, levels }: Picture, side: 0 | 1): Float64Array {
  const floors = new Float64Array(columnCount * ROWS);
  for (let column = 0; column < columnCount; column++) {
    let highest = Number.NEGATIVE_INFINITY;
    for (let row = 0; row < ROWS; row++) highest = Math.max(highest, levels[side][column * ROWS + row]!);
    for (let row = 0; row < ROWS; row++) {
      floors[column * ROWS + row] = Math.max(highest - COLUMN_RANGE_DB, BANDS[row]!.thresholdDb);
    }
  }
  return floors;
}

/** How far levels are above these floors; 0 below them. */
function clippedAt(floors: Float64Array, levels: Float32Array): Float64Array {
  const length = Math.min(levels.length, floors.length);
  const clipped = new Float64Array(length);
  for (let at = 0; at < length; at++) clipped[at] = Math.max(0, levels[at]! - floors[at]!);
  return clipped;
}

function similarityAt(first: Float64Array, second: Float64Array, centre: number): number {
  let [meanFirst, meanSecond, squareFirst, squareSecond, product] = [0, 0, 0, 0, 0];
  for (let column = -1; column <= 1; column++) {
    for (let row = -1; row <= 1; row++) {
      const weight = (column === 0 ? MIDDLE : BESIDE) * (row === 0 ? MIDDLE : BESIDE);
      const at = centre + column * ROWS + row;
      const [one, other] = [first[at]!, second[at]!];
      meanFirst += weight * one;
      meanSecond += weight * other;
      squareFirst += weight * one * one;
      squareSecond += weight * other * other;
      product += weight * one * other;
    }
  }
  const spreads = Math.max(0, squareFirst - meanFirst ** 2) * Math.max(0, squareSecond - meanSecond ** 2);
  const mean = (2 * meanFirst * meanSecond + MEAN_CONSTANT) / (meanFirst ** 2 + meanSecond ** 2 + MEAN_CONSTANT);
  const structure = (product - meanFirst * meanSecond + STRUCTURE_CONSTANT) / (Math.sqrt(spreads) + STRUCTURE_CONSTANT);
  return mean * structure;
}

function takeLevels(power: Float64Array, levels: Float32Array, from: number): void {
  for (const [row, { firstBin, weights }] of BANDS.entries()) {
    let sum = 1e-12;
    for (let at = 0; at < weights.length; at++) sum += weights[at]! * power[firstBin + at]!;
    levels[from + row] = 10 * Math.log10(sum);
  }
}

/** A step of ERB apart (B. Glasberg and B. Moore, 1990), each with the response of a fourth-order gammatone. */
function gammatoneBands(): readonly GammatoneBand[] {
  const numberOf = (hertz: number): number => 21.4 * Math.log10(1 + 0.00437 * hertz);
  const lowest = numberOf(LOWEST_HZ);
  return Array.from({ length: Math.floor(numberOf(HIGHEST_HZ) - lowest) + 1 }, (_, row) => {
    const centreHz = (10 ** ((lowest + row) / 21.4) - 1) / 0.00437;
    const widthHz = 1.019 * 24.7 * (1 + 0.00437 * centreHz);
    const all = Array.from({ length: PICTURE_BINS }, (_, bin) => {
      const distance = ((bin * SAMPLE_RATE_HZ) / PICTURE_WINDOW_SAMPLES - centreHz) / widthHz;
      return (1 + distance ** 2) ** -4;
    });
    const firstBin = all.findIndex((weight) => weight > 1e-4);
    const lastBin = all.findLastIndex((weight) => weight > 1e-4);
    const weights = Float64Array.from(all.slice(firstBin, lastBin + 1));
    return { firstBin, weights, thresholdDb: thresholdDb(centreHz / 1000) - PLAYED_DB };
  });
}

/** Threshold of hearing, dB SPL. */
function thresholdDb(kilohertz: number): number {
  return 3.64 * kilohertz ** -0.8 - 6.5 * Math.exp(-0.6 * (kilohertz - 3.3) ** 2) + 0.001 * kilohertz ** 4;
}
