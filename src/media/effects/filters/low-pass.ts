// The low-pass filter: each sample moves the output by a part of the difference, `(x - y) / smoothing`. Upstream's
// formula; it starts at the first input sample instead of at silence. Audio thread; no allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { INAUDIBLE } from "../../format/audio-format.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { defineFilter } from "./filter-definition.ts";

class LowPassFilter implements AudioFilter {
  readonly #share: number;
  #hasStarted: boolean;
  #left: number;
  #right: number;

  constructor({ smoothing }: SettingsOf<"lowPass">, previous: LowPassFilter | undefined) {
    this.#share = 1 / smoothing;
    this.#hasStarted = previous === undefined ? false : previous.#hasStarted;
    this.#left = previous === undefined ? 0 : previous.#left;
    this.#right = previous === undefined ? 0 : previous.#right;
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    if (!this.#hasStarted && lengthSamples > 0) {
      this.#hasStarted = true;
      this.#left = left[0]!;
      this.#right = right[0]!;
    }
    const share = this.#share;
    let outputLeft = this.#left;
    let outputRight = this.#right;
    for (let sample = 0; sample < lengthSamples; sample++) {
      outputLeft += (left[sample]! - outputLeft) * share;
      outputRight += (right[sample]! - outputRight) * share;
      left[sample] = outputLeft;
      right[sample] = outputRight;
    }
    this.#left = Math.abs(outputLeft) < INAUDIBLE ? 0 : outputLeft;
    this.#right = Math.abs(outputRight) < INAUDIBLE ? 0 : outputRight;
  }

  reset(): void {
    this.#hasStarted = false;
  }
}

export const lowPass = defineFilter(
  "lowPass",
  LowPassFilter,
  (settings, previous) => new LowPassFilter(settings, previous),
);
