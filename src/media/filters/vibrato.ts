// The filter of that name: a delay that swings between 3 and `3 + 96 * depth` samples, so that the pitch wavers. Upstream's
// formula (third-order Hermite interpolation between samples) with an exact phase. The loop is in vibrato-kernel.ts. Audio
// thread; no allocation.

import type { AudioFilter } from "./audio-filter.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { Oscillator } from "./oscillator.ts";
import { isPresent, numberSetting } from "./setting.ts";
import { BLOCK_SAMPLES, PAST_SAMPLES, sharedVibratoKernel, type VibratoKernel } from "./vibrato-kernel.ts";

const FREQUENCY_HZ_MAX = 14;
/** Twice 1 ms: what the delay swings over at depth 1. */
const SWING_SAMPLES = 96;
const DELAY_SAMPLES_MIN = 3;

export class VibratoFilter implements AudioFilter {
  readonly #kernel: VibratoKernel;
  readonly #swingSamples: number;
  readonly #oscillator: Oscillator;
  readonly #pastLeft = new Float32Array(PAST_SAMPLES);
  readonly #pastRight = new Float32Array(PAST_SAMPLES);

  constructor({ frequencyHz, depth }: Modulation, previous?: VibratoFilter, kernel = sharedVibratoKernel()) {
    this.#kernel = kernel;
    this.#swingSamples = (SWING_SAMPLES * depth) / 2;
    this.#oscillator = new Oscillator(frequencyHz, previous === undefined ? undefined : previous.#oscillator);
    if (previous === undefined) return;
    this.#pastLeft.set(previous.#pastLeft);
    this.#pastRight.set(previous.#pastRight);
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    if (left.length <= BLOCK_SAMPLES) {
      this.#processBlock(left, right, lengthSamples);
      return;
    }
    for (let start = 0; start < lengthSamples; start += BLOCK_SAMPLES) {
      const end = Math.min(start + BLOCK_SAMPLES, lengthSamples);
      this.#processBlock(left.subarray(start, end), right.subarray(start, end), end - start);
    }
  }

  #processBlock(left: Float32Array, right: Float32Array, count: number): void {
    const kernel = this.#kernel;
    // Whole arrays are copied fast; what lies behind `count` is never read.
    kernel.left.set(this.#pastLeft);
    kernel.right.set(this.#pastRight);
    kernel.left.set(left, PAST_SAMPLES);
    kernel.right.set(right, PAST_SAMPLES);
    const oscillator = this.#oscillator;
    oscillator.startBlock(count);
    const { sine, cosine, stepSine, stepCosine } = oscillator;
    const swing = this.#swingSamples;
    kernel.run(count, PAST_SAMPLES - DELAY_SAMPLES_MIN - swing, swing, sine, cosine, stepSine, stepCosine);
    for (let sample = 0; sample < PAST_SAMPLES; sample++) {
      this.#pastLeft[sample] = kernel.left[count + sample]!;
      this.#pastRight[sample] = kernel.right[count + sample]!;
    }
    if (left.length === BLOCK_SAMPLES && count === BLOCK_SAMPLES) {
      left.set(kernel.leftOut);
      right.set(kernel.rightOut);
      return;
    }
    for (let sample = 0; sample < count; sample++) {
      left[sample] = kernel.leftOut[sample]!;
      right[sample] = kernel.rightOut[sample]!;
    }
  }

  reset(): void {
    this.#oscillator.reset();
    this.#pastLeft.fill(0);
    this.#pastRight.fill(0);
  }
}

interface Modulation {
  readonly frequencyHz: number;
  /** 0 to 1. */
  readonly depth: number;
}

function modulationOf(settings: unknown): Modulation {
  return {
    frequencyHz: numberSetting(settings, "frequency", { fallback: 2, min: 0, max: FREQUENCY_HZ_MAX }),
    depth: numberSetting(settings, "depth", { fallback: 0.5, min: 0, max: 1 }),
  };
}

export const vibrato: FilterDefinition = {
  name: "vibrato",
  isEnabled: (settings) => isPresent(settings) && modulationOf(settings).depth !== 0,
  create: (settings, previous) =>
    new VibratoFilter(modulationOf(settings), previous instanceof VibratoFilter ? previous : undefined),
};
