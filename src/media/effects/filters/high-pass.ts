// Tonearm's high-pass filter: removes audio below a frequency, 12 dB per octave (Butterworth). A state-variable filter,
// whose state means the same at any frequency, so that a change does not ring. Audio thread; no allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { INAUDIBLE, SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { defineFilter } from "./filter-definition.ts";

const DAMPING = Math.SQRT2;

class HighPassFilter implements AudioFilter {
  readonly #g: number;
  readonly #share: number;
  /** Two integrators per side. */
  readonly #state = new Float64Array(4);

  constructor({ frequency }: SettingsOf<"highPass">, previous: HighPassFilter | undefined) {
    this.#g = Math.tan((Math.PI * frequency) / SAMPLE_RATE_HZ);
    this.#share = 1 / (1 + this.#g * (this.#g + DAMPING));
    if (previous !== undefined) this.#state.set(previous.#state);
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const [g, share, state] = [this.#g, this.#share, this.#state];
    let [left1, left2, right1, right2] = [state[0]!, state[1]!, state[2]!, state[3]!];
    for (let sample = 0; sample < lengthSamples; sample++) {
      const l = left[sample]!;
      const r = right[sample]!;
      const highLeft = share * (l - left2 - (DAMPING + g) * left1);
      const highRight = share * (r - right2 - (DAMPING + g) * right1);
      const bandLeft = left1 + g * highLeft;
      const bandRight = right1 + g * highRight;
      left1 = bandLeft + g * highLeft;
      right1 = bandRight + g * highRight;
      left2 += 2 * g * bandLeft;
      right2 += 2 * g * bandRight;
      left[sample] = highLeft;
      right[sample] = highRight;
    }
    this.#keep(left1, left2, 0);
    this.#keep(right1, right2, 2);
  }

  reset(): void {
    this.#state.fill(0);
  }

  #keep(first: number, second: number, at: number): void {
    const isSilent = Math.abs(first) < INAUDIBLE && Math.abs(second) < INAUDIBLE;
    this.#state[at] = isSilent ? 0 : first;
    this.#state[at + 1] = isSilent ? 0 : second;
  }
}

export const highPass = defineFilter(
  "highPass",
  HighPassFilter,
  (settings, previous) => new HighPassFilter(settings, previous),
);
