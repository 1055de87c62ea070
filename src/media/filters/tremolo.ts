// The filter of that name: loudness swings between full and `1 - depth`. Upstream's formula with an exact phase. Audio
// thread; no allocation.

import type { AudioFilter } from "./audio-filter.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { Oscillator } from "./oscillator.ts";
import { isPresent, numberSetting } from "./setting.ts";

class TremoloFilter implements AudioFilter {
  readonly #swing: number;
  readonly #oscillator: Oscillator;

  constructor({ frequencyHz, depth }: Modulation, previous: TremoloFilter | undefined) {
    this.#swing = depth / 2;
    this.#oscillator = new Oscillator(frequencyHz, previous === undefined ? undefined : previous.#oscillator);
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const oscillator = this.#oscillator;
    oscillator.startBlock(lengthSamples);
    const { stepSine, stepCosine } = oscillator;
    let { sine, cosine } = oscillator;
    const swing = this.#swing;
    for (let sample = 0; sample < lengthSamples; sample++) {
      const gain = 1 - swing + swing * sine;
      left[sample] = left[sample]! * gain;
      right[sample] = right[sample]! * gain;
      const next = sine * stepCosine + cosine * stepSine;
      cosine = cosine * stepCosine - sine * stepSine;
      sine = next;
    }
  }

  reset(): void {
    this.#oscillator.reset();
  }
}

interface Modulation {
  readonly frequencyHz: number;
  /** 0 to 1. */
  readonly depth: number;
}

function modulationOf(settings: unknown): Modulation {
  return {
    frequencyHz: numberSetting(settings, "frequency", { fallback: 2, min: 0 }),
    depth: numberSetting(settings, "depth", { fallback: 0.5, min: 0, max: 1 }),
  };
}

export const tremolo: FilterDefinition = {
  name: "tremolo",
  isEnabled: (settings) => isPresent(settings) && modulationOf(settings).depth !== 0,
  create: (settings, previous) =>
    new TremoloFilter(modulationOf(settings), previous instanceof TremoloFilter ? previous : undefined),
};
