// A model of the ear: spectra, the excitation of each band, and its modulation. ITU-R BS.1387-1, basic version (annex
// 2, sections 2.1 and 3.1), as P. Kabal reads it in "An Examination and Interpretation of ITU-R BS.1387" (McGill
// University, 2002). Lab only.

import { Fourier } from "../../lab/listen/fourier.ts";
import {
  BAND_COUNT,
  BIN_COUNT,
  BIN_WEIGHTS,
  gatherBands,
  HOP_SAMPLES,
  INNER_NOISE,
  ringing,
  Spreading,
  WINDOW_SAMPLES,
  WINDOWS_PER_SECOND,
} from "./ear-bands.ts";

/** Both channels of a signal, of one length. */
export type Stereo = readonly [Float32Array, Float32Array];

/** One channel as the ear perceives it, window by window: the bands or bins of the first window come first. */
export interface Sensation {
  readonly windowCount: number;
  /** Power of each bin as it reaches the inner ear. */
  readonly power: Float32Array;
  /** Excitation of each band, after masking within the window. */
  readonly excitation: Float64Array;
  /** Excitation after masking by earlier windows. */
  readonly masking: Float64Array;
  /** Modulation of each band's loudness, relative to its loudness. */
  readonly modulation: Float64Array;
  /** Loudness of each band. */
  readonly loudness: Float64Array;
}

/** One instance serves all signals. */
export class EarModel {
  readonly #fourier = new Fourier(WINDOW_SAMPLES);
  readonly #window = Float64Array.from(
    { length: WINDOW_SAMPLES },
    (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / (WINDOW_SAMPLES - 1)),
  );
  readonly #real = new Float64Array(WINDOW_SAMPLES);
  readonly #imaginary = new Float64Array(WINDOW_SAMPLES);
  readonly #bands = new Float64Array(BAND_COUNT);
  readonly #spread = new Float64Array(BAND_COUNT);
  readonly #spreading = new Spreading();
  readonly #maskRinging = ringing(0.008, 0.03);
  readonly #modulationRinging = ringing(0.008, 0.05);

  /** Both channels; an incomplete window at the end is left out. */
  listen([left, right]: Stereo): readonly [Sensation, Sensation] {
    const windowCount = Math.max(0, Math.floor((left.length - WINDOW_SAMPLES) / HOP_SAMPLES) + 1);
    const ears = [emptySensation(windowCount), emptySensation(windowCount)] as const;
    const moving = [new Moving(), new Moving()] as const;
    for (let window = 0; window < windowCount; window++) {
      this.#transform(left, right, window * HOP_SAMPLES);
      this.#takePower(ears[0].power, ears[1].power, window * BIN_COUNT);
      for (const [side, sensation] of ears.entries()) this.#excite(sensation, window, moving[side]!);
    }
    return ears;
  }

  /** Left as the real part and right as the imaginary one: two spectra for one transform. */
  #transform(left: Float32Array, right: Float32Array, from: number): void {
    const [real, imaginary, shape] = [this.#real, this.#imaginary, this.#window];
    for (let at = 0; at < WINDOW_SAMPLES; at++) {
      real[at] = left[from + at]! * shape[at]!;
      imaginary[at] = right[from + at]! * shape[at]!;
    }
    this.#fourier.transform(real, imaginary);
  }

  #takePower(left: Float32Array, right: Float32Array, from: number): void {
    const [real, imaginary] = [this.#real, this.#imaginary];
    for (let bin = 0; bin < BIN_COUNT; bin++) {
      const mirror = (WINDOW_SAMPLES - bin) % WINDOW_SAMPLES;
      const weight = BIN_WEIGHTS[bin]! / 4;
      const leftReal = real[bin]! + real[mirror]!;
      const leftImaginary = imaginary[bin]! - imaginary[mirror]!;
      const rightReal = imaginary[bin]! + imaginary[mirror]!;
      const rightImaginary = real[mirror]! - real[bin]!;
      left[from + bin] = weight * (leftReal * leftReal + leftImaginary * leftImaginary);
      right[from + bin] = weight * (rightReal * rightReal + rightImaginary * rightImaginary);
    }
  }

  #excite(sensation: Sensation, window: number, moving: Moving): void {
    const [bands, spread, from] = [this.#bands, this.#spread, window * BAND_COUNT];
    gatherBands(sensation.power, window * BIN_COUNT, bands);
    for (let band = 0; band < BAND_COUNT; band++) bands[band]! += INNER_NOISE[band]!;
    this.#spreading.spread(bands, spread);
    for (let band = 0; band < BAND_COUNT; band++) {
      const now = spread[band]!;
      const mask = this.#maskRinging[band]!;
      moving.power[band] = mask * moving.power[band]! + (1 - mask) * now;
      const still = this.#modulationRinging[band]!;
      const loudness = now ** 0.3;
      const change = WINDOWS_PER_SECOND * Math.abs(loudness - moving.before[band]!);
      moving.before[band] = loudness;
      moving.change[band] = still * moving.change[band]! + (1 - still) * change;
      moving.loudness[band] = still * moving.loudness[band]! + (1 - still) * loudness;
      sensation.excitation[from + band] = now;
      sensation.masking[from + band] = Math.max(moving.power[band]!, now);
      sensation.modulation[from + band] = moving.change[band]! / (1 + moving.loudness[band]! / 0.3);
      sensation.loudness[from + band] = moving.loudness[band]!;
    }
  }
}

/** The state of one channel between windows. */
class Moving {
  readonly power = new Float64Array(BAND_COUNT);
  readonly before = new Float64Array(BAND_COUNT);
  readonly change = new Float64Array(BAND_COUNT);
  readonly loudness = new Float64Array(BAND_COUNT);
}

function emptySensation(windowCount: number): Sensation {
  const bands = windowCount * BAND_COUNT;
  return {
    windowCount,
    power: new Float32Array(windowCount * BIN_COUNT),
    excitation: new Float64Array(bands),
    masking: new Float64Array(bands),
    modulation: new Float64Array(bands),
    loudness: new Float64Array(bands),
  };
}
