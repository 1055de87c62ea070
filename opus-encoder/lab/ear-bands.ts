// The constants of the ear model: which bins of a spectrum fall into which band of the ear, how well each is heard, and
// how long it rings. ITU-R BS.1387-1, basic version (annex 2, section 2.1): quarters of a Bark from 80 Hz to 18 kHz.
// Lab only.

import { SAMPLE_RATE_HZ } from "../../src/media/format/audio-format.ts";

/** Samples per window. */
export const WINDOW_SAMPLES = 2048;
/** Samples from one window to the next. */
export const HOP_SAMPLES = 1024;
/** Bins of a spectrum, from 0 Hz to half the rate. */
export const BIN_COUNT = WINDOW_SAMPLES / 2 + 1;
/** Windows in a second. */
export const WINDOWS_PER_SECOND = SAMPLE_RATE_HZ / HOP_SAMPLES;

const BARK_STEP = 0.25;
const LOWEST_HZ = 80;
const HIGHEST_HZ = 18_000;
/** Assumed level of a full-scale sine, dB SPL. */
const FULL_SCALE_DB = 92;
/** Remaining power of a sine between two bins after a Hann window, in the least favourable case. */
const WINDOW_LOSS = 0.84971;

/** The share of a bin's power that belongs to a band. */
interface BandPart {
  readonly bin: number;
  readonly share: number;
}

const lowestBark = barkOf(LOWEST_HZ);
/** 109. */
export const BAND_COUNT = Math.ceil((barkOf(HIGHEST_HZ) - lowestBark) / BARK_STEP);

const edgesHz = Float64Array.from({ length: BAND_COUNT + 1 }, (_, band) =>
  Math.min(HIGHEST_HZ, hertzOf(lowestBark + band * BARK_STEP)),
);
const barkEdge = (band: number): number => barkOf(edgesHz[band]!);

/** The middle of each band on the Bark scale, in Hz. */
const BAND_CENTRES_HZ = Float64Array.from({ length: BAND_COUNT }, (_, band) =>
  hertzOf((barkEdge(band) + barkEdge(band + 1)) / 2),
);

/** Power of each bin as it reaches the inner ear, in units where 1 is 0 dB SPL, for a spectrum of samples of ±1. */
export const BIN_WEIGHTS = Float64Array.from({ length: BIN_COUNT }, (_, bin) => {
  const level = 10 ** (FULL_SCALE_DB / 10) / ((WINDOW_LOSS * (WINDOW_SAMPLES - 1)) / 4) ** 2;
  const kilohertz = Math.max((bin * SAMPLE_RATE_HZ) / WINDOW_SAMPLES, 1) / 1000;
  const listener =
    -2.184 * kilohertz ** -0.8 + 6.5 * Math.exp(-0.6 * (kilohertz - 3.3) ** 2) - 0.001 * kilohertz ** 3.6;
  return level * 10 ** (listener / 10);
});

/** Internal noise of the ear, which is the threshold of hearing, per band. */
export const INNER_NOISE = BAND_CENTRES_HZ.map((hertz) => 10 ** (0.1456 * (hertz / 1000) ** -0.8));

/** How far below the level of a band noise in it is masked, as a factor of power. */
export const MASK_SHARE = Float64Array.from({ length: BAND_COUNT }, (_, band) => {
  const bark = band * BARK_STEP;
  return 10 ** (-(bark <= 12 ? 3 : 0.25 * bark) / 10);
});

const parts: readonly (readonly BandPart[])[] = Array.from({ length: BAND_COUNT }, (_, band) => {
  const width = SAMPLE_RATE_HZ / WINDOW_SAMPLES;
  return Array.from({ length: BIN_COUNT }, (_, bin) => {
    const from = Math.max(edgesHz[band]!, (bin - 0.5) * width);
    const to = Math.min(edgesHz[band + 1]!, (bin + 0.5) * width);
    return { bin, share: Math.max(0, to - from) / width };
  }).filter(({ share }) => share > 0);
});
const firstPart = Int32Array.from([0, ...parts.map(({ length }) => length)]);
for (let band = 0; band < BAND_COUNT; band++) firstPart[band + 1]! += firstPart[band]!;
const partBins = Int32Array.from(parts.flatMap((bins) => bins.map(({ bin }) => bin)));
const partShares = Float64Array.from(parts.flatMap((bins) => bins.map(({ share }) => share)));

/** Sums the power of bins by band. `from` is where the spectrum begins in `power`. */
export function gatherBands(power: Float64Array | Float32Array, from: number, bands: Float64Array): void {
  for (let band = 0; band < BAND_COUNT; band++) {
    let sum = 0;
    for (let part = firstPart[band]!; part < firstPart[band + 1]!; part++) {
      sum += partShares[part]! * power[from + partBins[part]!]!;
    }
    bands[band] = Math.max(sum, 1e-12);
  }
}

/**
 * Per band, the share of a smoothed value left after one hop: bands ring between `at100HzS` and `least`, in seconds.
 */
export function ringing(least: number, at100HzS: number): Float64Array {
  return BAND_CENTRES_HZ.map((hertz) =>
    Math.exp(-1 / (WINDOWS_PER_SECOND * (least + (100 / hertz) * (at100HzS - least)))),
  );
}

/** Spreads each band's power over adjacent bands as the ear does: the louder it is, the wider upwards. */
export class Spreading {
  readonly #lowerSlope = 10 ** (-2.7 * BARK_STEP);
  readonly #lowerSlopeBent = this.#lowerSlope ** BENT;
  readonly #upperSlopes = BAND_CENTRES_HZ.map((hertz) => 10 ** ((-2.4 - 23 / hertz) * BARK_STEP));
  readonly #lowerSums = Float64Array.from(
    { length: BAND_COUNT },
    (_, band) => (1 - this.#lowerSlope ** (band + 1)) / (1 - this.#lowerSlope),
  );
  readonly #bent = new Float64Array(BAND_COUNT);
  readonly #slopesBent = new Float64Array(BAND_COUNT);
  readonly #norm: Float64Array;

  constructor() {
    this.#norm = new Float64Array(BAND_COUNT).fill(1);
    const even = new Float64Array(BAND_COUNT).fill(1);
    const spread = new Float64Array(BAND_COUNT);
    this.spread(even, spread);
    this.#norm = spread.map((value) => 1 / value);
  }

  /** `from` and `to` must be different arrays. */
  spread(from: Float64Array, to: Float64Array): void {
    const [bent, slopes] = [this.#bent, this.#slopesBent];
    for (let band = 0; band < BAND_COUNT; band++) {
      const power = from[band]!;
      const slope = this.#upperSlopes[band]! * power ** (0.2 * BARK_STEP);
      const upperSum = (1 - slope ** (BAND_COUNT - band)) / (1 - slope);
      bent[band] = (power / (this.#lowerSums[band]! + upperSum - 1)) ** BENT;
      slopes[band] = slope ** BENT;
    }
    let below = 0;
    for (let band = BAND_COUNT - 1; band >= 0; band--) {
      below = below * this.#lowerSlopeBent + bent[band]!;
      to[band] = below;
    }
    for (let band = 0; band < BAND_COUNT - 1; band++) {
      const slope = slopes[band]!;
      let above = bent[band]!;
      for (let higher = band + 1; higher < BAND_COUNT && above > NEGLIGIBLE; higher++) {
        above *= slope;
        to[higher]! += above;
      }
    }
    for (let band = 0; band < BAND_COUNT; band++) to[band] = to[band]! ** (1 / BENT) * this.#norm[band]!;
  }
}

/** Powers add up as their 0.4th powers. */
const BENT = 0.4;
/** Compressed power too small to change a sum. */
const NEGLIGIBLE = 1e-7;

function barkOf(hertz: number): number {
  return 7 * Math.asinh(hertz / 650);
}

function hertzOf(bark: number): number {
  return 650 * Math.sinh(bark / 7);
}
