// The reverb of lavalink-filter-plugin: comb filters side by side, each repeating the audio after its delay and again,
// softer by its gain; their mean is added to the audio. Theirs share one buffer by mistake; here each comb has its own,
// and so has each channel. Audio thread; no allocation once created.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { ROUNDING } from "./delay-line.ts";
import { defineFilter } from "./filter-definition.ts";

/** At 1 the feedback would never fade out. */
const GAIN_MAX = 0.95;

class Comb {
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly gain: number;
  at = 0;

  constructor(delaySamples: number, gain: number) {
    this.left = new Float32Array(delaySamples);
    this.right = new Float32Array(delaySamples);
    this.gain = gain;
  }
}

class CombReverb implements AudioFilter {
  readonly isEchoing = true;
  readonly #combs: readonly Comb[];

  constructor({ delays, gains }: SettingsOf<"lavalink-filter-plugin.reverb">, previous: CombReverb | undefined) {
    this.#combs = delays.slice(0, gains.length).map((delay, index) => {
      const comb = new Comb(Math.max(1, Math.round(delay * SAMPLE_RATE_HZ)), Math.min(gains[index] ?? 0, GAIN_MAX));
      const before = previous === undefined ? undefined : previous.#combs[index];
      // With another delay the old audio would be heard out of time.
      if (before?.left.length === comb.left.length) {
        comb.left.set(before.left);
        comb.right.set(before.right);
        comb.at = before.at;
      }
      return comb;
    });
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const combs = this.#combs;
    const share = 1 / combs.length;
    for (let sample = 0; sample < lengthSamples; sample++) {
      const l = left[sample]!;
      const r = right[sample]!;
      let sumLeft = 0;
      let sumRight = 0;
      for (let index = 0; index < combs.length; index++) {
        const comb = combs[index]!;
        const echoLeft = comb.left[comb.at]!;
        const echoRight = comb.right[comb.at]!;
        comb.left[comb.at] = l + echoLeft * comb.gain + ROUNDING - ROUNDING;
        comb.right[comb.at] = r + echoRight * comb.gain + ROUNDING - ROUNDING;
        comb.at = comb.at + 1 === comb.left.length ? 0 : comb.at + 1;
        sumLeft += echoLeft;
        sumRight += echoRight;
      }
      left[sample] = l + sumLeft * share;
      right[sample] = r + sumRight * share;
    }
  }

  reset(): void {
    for (const { left, right } of this.#combs) {
      left.fill(0);
      right.fill(0);
    }
  }
}

export const combReverb = defineFilter(
  "lavalink-filter-plugin.reverb",
  CombReverb,
  (settings, previous) => new CombReverb(settings, previous),
);
