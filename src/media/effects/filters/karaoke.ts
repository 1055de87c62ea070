// The karaoke filter: removes the part that both sides share (the voice, mostly), and restores the part of it that lies
// in a band (the bass, for example). Upstream's formulas. Audio thread; no allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { INAUDIBLE, SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { defineFilter } from "./filter-definition.ts";

/** A narrower band would ring for minutes; it passes nothing. */
const WIDTH_HZ_MIN = 0.01;
/** Limit of the band. As upstream, bands repeat above 48 kHz. */
const BAND_HZ_MAX = 1e6;

class KaraokeFilter implements AudioFilter {
  readonly #level: number;
  readonly #bandLevel: number;
  /** The band: y = a * x - b * y1 - c * y2. */
  readonly #a: number;
  readonly #b: number;
  readonly #c: number;
  #y1: number;
  #y2: number;

  constructor(settings: SettingsOf<"karaoke">, previous: KaraokeFilter | undefined) {
    const { level, monoLevel, filterBand, filterWidth: widthHz } = settings;
    const bandHz = Math.min(Math.max(filterBand, -BAND_HZ_MAX), BAND_HZ_MAX);
    this.#level = level;
    this.#bandLevel = monoLevel * level;
    const isOpen = widthHz >= WIDTH_HZ_MIN;
    const c = isOpen ? Math.exp((-2 * Math.PI * widthHz) / SAMPLE_RATE_HZ) : 0;
    const cosine = Math.cos((2 * Math.PI * bandHz) / SAMPLE_RATE_HZ);
    this.#c = c;
    this.#b = ((-4 * c) / (1 + c)) * cosine;
    // b * b / (4 * c), in a form that stays finite for any width.
    const shape = (4 * c * cosine * cosine) / (1 + c) ** 2;
    this.#a = isOpen ? Math.sqrt(Math.max(0, 1 - shape)) * (1 - c) : 0;
    this.#y1 = isOpen && previous !== undefined ? previous.#y1 : 0;
    this.#y2 = isOpen && previous !== undefined ? previous.#y2 : 0;
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const [level, bandLevel, a, b, c] = [this.#level, this.#bandLevel, this.#a, this.#b, this.#c];
    let y1 = this.#y1;
    let y2 = this.#y2;
    for (let sample = 0; sample < lengthSamples; sample++) {
      const l = left[sample]!;
      const r = right[sample]!;
      const y = a * 0.5 * (l + r) - b * y1 - c * y2;
      y2 = y1;
      y1 = y;
      const band = y * bandLevel;
      left[sample] = l - r * level + band;
      right[sample] = r - l * level + band;
    }
    const isSilent = Math.abs(y1) < INAUDIBLE && Math.abs(y2) < INAUDIBLE;
    this.#y1 = isSilent ? 0 : y1;
    this.#y2 = isSilent ? 0 : y2;
  }

  reset(): void {
    this.#y1 = 0;
    this.#y2 = 0;
  }
}

export const karaoke = defineFilter(
  "karaoke",
  KaraokeFilter,
  (settings, previous) => new KaraokeFilter(settings, previous),
);
