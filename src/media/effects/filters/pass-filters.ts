// Tonearm's high-pass filter, and the high-pass and low-pass filters of LavaDSPX: they remove audio below or above a
// frequency, 12 dB per octave (Butterworth). A state-variable filter, whose state means the same at any frequency, so
// that a change does not ring. Audio thread; no allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { INAUDIBLE, SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import { clamp } from "../../format/clamp.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { defineFilter } from "./filter-definition.ts";

const DAMPING = Math.SQRT2;
/** The formula has no meaning from half of the sample rate on; these are not heard. */
const CUTOFF_HZ_MAX = 23_000;

interface PassSettings {
  readonly frequencyHz: number;
  /** Gains of what is above the frequency and of what is below; one of them is 0. */
  readonly highGain: number;
  readonly lowGain: number;
  /** Samples are clipped to full scale. */
  readonly isClipped: boolean;
}

class PassFilter implements AudioFilter {
  readonly #settings: PassSettings;
  readonly #g: number;
  readonly #share: number;
  /** Two integrators per side. */
  readonly #state = new Float64Array(4);

  constructor(settings: PassSettings, previous: PassFilter | undefined) {
    this.#settings = settings;
    this.#g = Math.tan((Math.PI * Math.min(settings.frequencyHz, CUTOFF_HZ_MAX)) / SAMPLE_RATE_HZ);
    this.#share = 1 / (1 + this.#g * (this.#g + DAMPING));
    if (previous !== undefined) this.#state.set(previous.#state);
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    this.#filter(left, lengthSamples, 0);
    this.#filter(right, lengthSamples, 2);
  }

  reset(): void {
    this.#state.fill(0);
  }

  /** One side, whose state begins at `at`. */
  #filter(side: Float32Array, lengthSamples: number, at: number): void {
    const { highGain, lowGain, isClipped } = this.#settings;
    const [g, share, state] = [this.#g, this.#share, this.#state];
    let first = state[at]!;
    let second = state[at + 1]!;
    for (let sample = 0; sample < lengthSamples; sample++) {
      const high = share * (side[sample]! - second - (DAMPING + g) * first);
      const band = first + g * high;
      first = band + g * high;
      const low = second + g * band;
      second = low + g * band;
      side[sample] = highGain * high + lowGain * low;
    }
    if (isClipped) for (let sample = 0; sample < lengthSamples; sample++) side[sample] = clamp(side[sample]!);
    const isSilent = Math.abs(first) < INAUDIBLE && Math.abs(second) < INAUDIBLE;
    state[at] = isSilent ? 0 : first;
    state[at + 1] = isSilent ? 0 : second;
  }
}

export const highPass = defineFilter("highPass", PassFilter, ({ frequency }, previous) => {
  return new PassFilter({ frequencyHz: frequency, highGain: 1, lowGain: 0, isClipped: false }, previous);
});

export const lavadspxHighPass = defineFilter("high-pass", PassFilter, (settings, previous) => {
  return new PassFilter({ ...lavadspx(settings), highGain: settings.boostFactor, lowGain: 0 }, previous);
});

export const lavadspxLowPass = defineFilter("low-pass", PassFilter, (settings, previous) => {
  return new PassFilter({ ...lavadspx(settings), highGain: 0, lowGain: settings.boostFactor }, previous);
});

function lavadspx({ cutoffFrequency }: SettingsOf<"high-pass" | "low-pass">) {
  return { frequencyHz: cutoffFrequency, isClipped: true };
}
