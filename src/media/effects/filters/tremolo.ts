// The tremolo filter: loudness swings between full and `1 - depth`. Upstream's formula with an exact phase. Audio
// thread; no allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { defineFilter } from "./filter-definition.ts";
import { Oscillator } from "./oscillator.ts";

class TremoloFilter implements AudioFilter {
  readonly #swing: number;
  readonly #oscillator: Oscillator;

  constructor({ frequency, depth }: SettingsOf<"tremolo">, previous: TremoloFilter | undefined) {
    this.#swing = depth / 2;
    this.#oscillator = new Oscillator(frequency, previous === undefined ? undefined : previous.#oscillator);
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

export const tremolo = defineFilter(
  "tremolo",
  TremoloFilter,
  (settings, previous) => new TremoloFilter(settings, previous),
);
