// The filter of that name: a delay that swings between 3 and `3 + 96 * depth` samples, so that the pitch wavers. Upstream's
// formula (third-order Hermite interpolation between samples) with an exact phase. Audio thread; no allocation.

import type { AudioFilter } from "./audio-filter.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { Oscillator } from "./oscillator.ts";
import { isPresent, numberSetting } from "./setting.ts";

const FREQUENCY_HZ_MAX = 14;
/** Twice 1 ms: what the delay swings over at depth 1. */
const SWING_SAMPLES = 96;
const DELAY_SAMPLES_MIN = 3;
/** Samples of the past that are kept: the longest delay and the two behind it that the interpolation looks at. */
const PAST_SAMPLES = 104;
/** Longer arrays are worked on in pieces. */
const BLOCK_SAMPLES = 960;

class VibratoFilter implements AudioFilter {
  readonly #swingSamples: number;
  readonly #oscillator: Oscillator;
  /** The past, then the block at work. */
  readonly #left = new Float32Array(PAST_SAMPLES + BLOCK_SAMPLES);
  readonly #right = new Float32Array(PAST_SAMPLES + BLOCK_SAMPLES);

  constructor({ frequencyHz, depth }: Modulation, previous: VibratoFilter | undefined) {
    this.#swingSamples = (SWING_SAMPLES * depth) / 2;
    this.#oscillator = new Oscillator(frequencyHz, previous === undefined ? undefined : previous.#oscillator);
    if (previous === undefined) return;
    this.#left.set(previous.#left);
    this.#right.set(previous.#right);
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
    const pastLeft = this.#left;
    const pastRight = this.#right;
    pastLeft.set(left, PAST_SAMPLES);
    pastRight.set(right, PAST_SAMPLES);
    const oscillator = this.#oscillator;
    oscillator.startBlock(count);
    const { stepSine, stepCosine } = oscillator;
    let { sine, cosine } = oscillator;
    const swing = this.#swingSamples;
    const origin = PAST_SAMPLES - DELAY_SAMPLES_MIN - swing;
    for (let index = 0; index < count; index++) {
      const position = origin + index - swing * sine;
      const at = position | 0; // it is above 0
      const t = position - at;
      // Hermite: the weights of the four samples around the position, the same for both sides.
      const t2 = t * t;
      const t3 = t2 * t;
      const w0 = t2 - 0.5 * (t + t3);
      const w1 = 1 - 2.5 * t2 + 1.5 * t3;
      const w2 = 0.5 * t + 2 * t2 - 1.5 * t3;
      const w3 = 0.5 * (t3 - t2);
      left[index] = w0 * pastLeft[at - 1]! + w1 * pastLeft[at]! + w2 * pastLeft[at + 1]! + w3 * pastLeft[at + 2]!;
      right[index] = w0 * pastRight[at - 1]! + w1 * pastRight[at]! + w2 * pastRight[at + 1]! + w3 * pastRight[at + 2]!;
      const next = sine * stepCosine + cosine * stepSine;
      cosine = cosine * stepCosine - sine * stepSine;
      sine = next;
    }
    pastLeft.copyWithin(0, count, count + PAST_SAMPLES);
    pastRight.copyWithin(0, count, count + PAST_SAMPLES);
  }

  reset(): void {
    this.#oscillator.reset();
    this.#left.fill(0);
    this.#right.fill(0);
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
