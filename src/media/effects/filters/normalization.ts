// The normalization filter of LavaDSPX: audio whose peak is above `maxAmplitude` is scaled down to it. Adaptive: by the
// highest peak since the track began, otherwise by that of each frame. As there, in floats; both channels are scaled
// alike, and the gain moves over a frame, where theirs steps. Audio thread; no allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { defineFilter } from "./filter-definition.ts";

class NormalizationFilter implements AudioFilter {
  readonly #settings: SettingsOf<"normalization">;
  #peak = 0;
  /** Of the last sample. */
  #gain = 1;

  constructor(settings: SettingsOf<"normalization">, previous: NormalizationFilter | undefined) {
    this.#settings = settings;
    if (previous !== undefined) [this.#peak, this.#gain] = [previous.#peak, previous.#gain];
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const { maxAmplitude, adaptive } = this.#settings;
    let peak = adaptive ? this.#peak : 0;
    for (let sample = 0; sample < lengthSamples; sample++) {
      peak = Math.max(peak, Math.abs(left[sample]!), Math.abs(right[sample]!));
    }
    this.#peak = peak;
    const target = peak > maxAmplitude ? maxAmplitude / peak : 1;
    // A louder frame is scaled from its first sample on, so that nothing is above the maximum.
    let gain = Math.min(this.#gain, target);
    const step = (target - gain) / Math.max(1, lengthSamples);
    for (let sample = 0; sample < lengthSamples; sample++) {
      gain += step;
      left[sample] = left[sample]! * gain;
      right[sample] = right[sample]! * gain;
    }
    this.#gain = target;
  }

  reset(): void {
    this.#peak = 0;
    this.#gain = 1;
  }
}

export const normalization = defineFilter(
  "normalization",
  NormalizationFilter,
  (settings, previous) => new NormalizationFilter(settings, previous),
);
