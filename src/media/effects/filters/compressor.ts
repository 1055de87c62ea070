// Tonearm's compressor filter: makes audio above a threshold softer, both sides alike, so that the stereo image does
// not move. Loudness is measured and gain calculated in decibels, every 32 samples; the gain glides in between. Audio
// thread; no allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { SAMPLES_PER_MS } from "../../format/audio-format.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { defineFilter } from "./filter-definition.ts";

const BLOCK_SAMPLES = 32;
const BLOCKS_PER_MS = SAMPLES_PER_MS / BLOCK_SAMPLES;
/** A peak counts for 10 to 20 ms, so that the gain does not follow the waves of a bass. */
const WINDOW_BLOCKS = 10 * BLOCKS_PER_MS;
/** Anything softer (-180 dB) counts as silence. */
const LEVEL_MIN = 1e-9;
const DECIBELS = 20 / Math.LN10;

class CompressorFilter implements AudioFilter {
  readonly #settings: SettingsOf<"compressor">;
  /** Share of the distance to its target that the gain moves per block, down and up again. */
  readonly #attackShare: number;
  readonly #releaseShare: number;
  #reductionDb: number;
  /** Final reduction in decibels for the level requested last, which seldom changes. */
  #target = 0;
  #targetLevel = 0;
  #gain: number;
  /** Peak of the current window, and of the one before it. */
  #peak: number;
  #lastPeak: number;
  #windowBlocksLeft: number;

  constructor(settings: SettingsOf<"compressor">, previous: CompressorFilter | undefined) {
    this.#settings = settings;
    this.#attackShare = shareOf(settings.attack);
    this.#releaseShare = shareOf(settings.release);
    this.#reductionDb = previous === undefined ? 0 : previous.#reductionDb;
    this.#peak = previous === undefined ? 0 : previous.#peak;
    this.#lastPeak = previous === undefined ? 0 : previous.#lastPeak;
    this.#windowBlocksLeft = previous === undefined ? WINDOW_BLOCKS : previous.#windowBlocksLeft;
    this.#gain = Math.exp((settings.gain - this.#reductionDb) / DECIBELS);
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    for (let start = 0; start < lengthSamples; start += BLOCK_SAMPLES) {
      const end = Math.min(start + BLOCK_SAMPLES, lengthSamples);
      let peak = 0;
      for (let sample = start; sample < end; sample++) {
        const l = Math.abs(left[sample]!);
        const r = Math.abs(right[sample]!);
        if (l > peak) peak = l;
        if (r > peak) peak = r;
      }
      let gain = this.#gain;
      this.#follow(peak);
      const step = (this.#gain - gain) / (end - start);
      for (let sample = start; sample < end; sample++) {
        gain += step;
        left[sample] = left[sample]! * gain;
        right[sample] = right[sample]! * gain;
      }
    }
  }

  reset(): void {
    this.#reductionDb = 0;
    this.#peak = 0;
    this.#lastPeak = 0;
    this.#gain = Math.exp(this.#settings.gain / DECIBELS);
  }

  /** Sets the gain for a block with this peak. */
  #follow(peak: number): void {
    if (this.#windowBlocksLeft === 0) {
      this.#lastPeak = this.#peak;
      this.#peak = 0;
      this.#windowBlocksLeft = WINDOW_BLOCKS;
    }
    this.#windowBlocksLeft--;
    this.#peak = Math.max(this.#peak, peak);
    const target = this.#reductionFor(Math.max(this.#peak, this.#lastPeak, LEVEL_MIN));
    const share = target > this.#reductionDb ? this.#attackShare : this.#releaseShare;
    this.#reductionDb += (target - this.#reductionDb) * share;
    this.#gain = Math.exp((this.#settings.gain - this.#reductionDb) / DECIBELS);
  }

  /** Reduction in decibels: none below the knee, a parabola within, a line above. */
  #reductionFor(level: number): number {
    if (level === this.#targetLevel) return this.#target;
    const { threshold, ratio, knee } = this.#settings;
    const over = Math.log(level) * DECIBELS - threshold;
    const slope = 1 - 1 / ratio;
    this.#targetLevel = level;
    if (2 * over <= -knee) this.#target = 0;
    else this.#target = 2 * over < knee ? (slope * (over + knee / 2) ** 2) / (2 * knee) : slope * over;
    return this.#target;
  }
}

/** Share per block of an exponential approach with that time constant. */
function shareOf(timeMs: number): number {
  return 1 - Math.exp(-1 / (timeMs * BLOCKS_PER_MS));
}

export const compressor = defineFilter(
  "compressor",
  CompressorFilter,
  (settings, previous) => new CompressorFilter(settings, previous),
);
