// The rotation filter ("8D"): the sound wanders from side to side, each side between silence and full. Upstream's
// formula. Audio thread; no allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { defineFilter } from "./filter-definition.ts";
import { Oscillator } from "./oscillator.ts";

class RotationFilter implements AudioFilter {
  readonly #oscillator: Oscillator;

  constructor({ rotationHz }: SettingsOf<"rotation">, previous: RotationFilter | undefined) {
    this.#oscillator = new Oscillator(rotationHz, previous === undefined ? undefined : previous.#oscillator);
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const oscillator = this.#oscillator;
    oscillator.startBlock(lengthSamples);
    const { stepSine, stepCosine } = oscillator;
    let { sine, cosine } = oscillator;
    for (let sample = 0; sample < lengthSamples; sample++) {
      left[sample] = left[sample]! * (0.5 + 0.5 * sine);
      right[sample] = right[sample]! * (0.5 - 0.5 * sine);
      const next = sine * stepCosine + cosine * stepSine;
      cosine = cosine * stepCosine - sine * stepSine;
      sine = next;
    }
  }

  reset(): void {
    this.#oscillator.reset();
  }
}

export const rotation = defineFilter(
  "rotation",
  RotationFilter,
  (settings, previous) => new RotationFilter(settings, previous),
);
