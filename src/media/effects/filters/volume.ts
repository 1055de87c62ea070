// The player's volume (0 to 1000), the last stage before the Opus encoder, and the volume filter (0 to 5). Upstream's
// curves, in floats, and clamped where upstream's samples wrap around (protocol-v4.md section 3.3). Audio thread; no
// allocation.

import { clamp } from "../../format/clamp.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { defineFilter } from "./filter-definition.ts";

/** A change is spread over 10 ms, so that it does not click. */
const RAMP_SAMPLES = 480;

/** The gain of a volume: 1 at 100, a tangent curve up to 150, a line above. Cut to four digits like upstream's. */
export function volumeGain(volume: number): number {
  if (volume === 100) return 1;
  if (volume <= 150) return Math.floor(Math.tan(0.0079 * volume) * 10_000) / 10_000;
  return (2.4621 * volume) / 150;
}

/** The gain of the volume filter, 0 to 5; at 1 it is off. */
function filterVolumeGain(volume: number): number {
  return volume <= 1.5 ? Math.tan(0.79 * volume) : (2.4612 * volume) / 1.5;
}

/** The gain of a player, and of the volume filter. A change is a ramp of 10 ms. */
export class VolumeFilter implements AudioFilter {
  readonly #gainOf: (volume: number) => number;
  #gain: number;
  #targetGain: number;
  #step = 0;

  /** `gainOf` interprets `volume` and the argument of `setVolume`: by default 0 to 1000. */
  constructor(volume = 100, gainOf: (volume: number) => number = volumeGain) {
    this.#gainOf = gainOf;
    this.#gain = gainOf(volume);
    this.#targetGain = this.#gain;
  }

  /** True when audio passes unchanged, so that the filter (or transcoding as a whole) may be left out. */
  get isNeutral(): boolean {
    return this.#gain === 1 && this.#targetGain === 1;
  }

  setVolume(volume: number): void {
    this.#targetGain = this.#gainOf(volume);
    this.continueFrom(this.#gain);
  }

  /** The gain of the last sample. */
  get gain(): number {
    return this.#gain;
  }

  /** Starts from the gain of the audio before: a ramp leads from it to the current setting. */
  continueFrom(gain: number): void {
    this.#gain = gain;
    this.#step = (this.#targetGain - gain) / RAMP_SAMPLES;
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    if (this.isNeutral) return;
    const target = this.#targetGain;
    const step = this.#step;
    let gain = this.#gain;
    for (let sample = 0; sample < lengthSamples; sample++) {
      if (gain !== target) {
        gain += step;
        if ((step > 0 && gain > target) || (step < 0 && gain < target)) gain = target;
      }
      left[sample] = clamp(left[sample]! * gain);
      right[sample] = clamp(right[sample]! * gain);
    }
    this.#gain = gain;
  }

  /** Ends a ramp in progress at once. */
  reset(): void {
    this.#gain = this.#targetGain;
  }
}

export const volume = defineFilter("volume", VolumeFilter, (settings) => new VolumeFilter(settings, filterVolumeGain));
