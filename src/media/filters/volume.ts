// Loudness of one player: its own volume (0 to 1000) and the filter of that name (0 to 5), both with Lavalink's tangent
// curve (protocol-v4.md section 3.3). A change is ramped over one frame, so that it does not click. Audio thread.

import type { AudioFilter } from "./audio-filter.ts";

/** One frame of 20 ms at 48 kHz. */
const RAMP_SAMPLES = 960;

type Curve = (value: number) => number;

export class VolumeFilter implements AudioFilter {
  readonly #curve: Curve;
  #gain = 1;
  #targetGain = 1;
  #rampSamplesLeft = 0;

  private constructor(curve: Curve) {
    this.#curve = curve;
  }

  /** Takes 0 to 1000, 100 leaves the sound as it is. */
  static forPlayer(): VolumeFilter {
    return new VolumeFilter(playerGain);
  }

  /** Takes 0 to 5, 1 leaves the sound as it is. */
  static forFilter(): VolumeFilter {
    return new VolumeFilter(filterGain);
  }

  /** Starts the change to another volume with the next sample. */
  set(value: number): void {
    const gain = this.#curve(value);
    if (gain === this.#targetGain) return;
    this.#targetGain = gain;
    this.#rampSamplesLeft = RAMP_SAMPLES;
  }

  get isNeutral(): boolean {
    return this.#gain === 1 && this.#targetGain === 1;
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    let gain = this.#gain;
    for (let index = 0; index < lengthSamples; index++) {
      if (this.#rampSamplesLeft > 0) {
        gain += (this.#targetGain - gain) / this.#rampSamplesLeft;
        this.#rampSamplesLeft -= 1;
      } else {
        gain = this.#targetGain;
      }
      left[index] = Math.max(-1, Math.min(1, left[index]! * gain));
      right[index] = Math.max(-1, Math.min(1, right[index]! * gain));
    }
    this.#gain = this.#rampSamplesLeft === 0 ? this.#targetGain : gain;
  }

  reset(): void {
    this.#gain = this.#targetGain;
    this.#rampSamplesLeft = 0;
  }
}

function playerGain(volume: number): number {
  if (volume === 100) return 1;
  return volume <= 150 ? Math.floor(Math.tan(0.0079 * volume) * 10_000) / 10_000 : (2.4621 * volume) / 150;
}

function filterGain(volume: number): number {
  if (Math.abs(1 - volume) < 0.02) return 1;
  return volume <= 1.5 ? Math.tan(0.79 * volume) : (2.4612 * volume) / 1.5;
}
