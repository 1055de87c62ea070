// The equalizer filter: fifteen band-passes side by side, each added to the audio with its gain, clipped to full scale.
// Upstream's bands and sum, in 64-bit floats: in 32 bits the lowest band has noise at -66 dB. The loops are in
// equalizer-kernel.ts. Audio thread; no allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { INAUDIBLE, SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import {
  BAND_NUMBERS,
  BAND_STATE_OFFSET,
  type EqualizerKernel,
  HISTORY_OFFSET,
  STATE_NUMBERS,
  sharedEqualizerKernel,
} from "../../kernels/equalizer-kernel.ts";
import { GROUP_BANDS } from "../../kernels/numbers/equalizer.ts";
import { defineFilter } from "./filter-definition.ts";
import { KernelFilter } from "./kernel-filter.ts";

const CENTRES_HZ = [25, 40, 63, 100, 160, 250, 400, 630, 1000, 1600, 2500, 4000, 6300, 10_000, 16_000];
const STATE_END = BAND_STATE_OFFSET + 4;

/** w[n] = x[n] - x[n-2] + g w[n-1] - b w[n-2]; the band-pass is `a` times w and has gain 1 at its centre. */
interface Band {
  readonly g: number;
  readonly b: number;
  readonly a: number;
}

/**
 * Each band is 3 dB down a third of an octave below its centre. Upstream stores the numbers in 32 bits, which moves the
 * low bands by up to 1 % of their width: so do we, but calculate in 64. Its lowest band is one step off the formula's.
 */
const BANDS: readonly Band[] = CENTRES_HZ.map((centreHz) => {
  if (centreHz === 25) return { g: Math.fround(1.9984648), b: Math.fround(0.9984755), a: Math.fround(0.00076226668) };
  const centre = (2 * Math.PI * centreHz) / SAMPLE_RATE_HZ;
  const edge = centre * 2 ** (-1 / 3);
  const u = (Math.cos(edge) - Math.cos(centre)) / Math.sin(edge);
  const b = (1 - u) / (1 + u);
  return { g: Math.fround((1 + b) * Math.cos(centre)), b: Math.fround(b), a: Math.fround((1 - b) / 2) };
});

export class EqualizerFilter extends KernelFilter {
  readonly #kernel: EqualizerKernel;
  /** Bands whose gain is not 0, lowest first. */
  readonly #bands: readonly number[];
  readonly #groupCount: number;
  readonly #state = new Float64Array(STATE_NUMBERS);

  constructor(gains: readonly number[], previous?: EqualizerFilter, kernel = sharedEqualizerKernel()) {
    super(kernel);
    this.#kernel = kernel;
    this.#bands = BANDS.map((_, band) => band).filter((band) => (gains[band] ?? 0) !== 0);
    this.#groupCount = Math.ceil(this.#bands.length / GROUP_BANDS);
    for (const [index, band] of this.#bands.entries()) {
      const { g, b, a } = BANDS[band]!;
      const k = 4 * a * (gains[band] ?? 0);
      this.#state.set([g, g, b, b, k, k], index * BAND_NUMBERS);
    }
    if (previous !== undefined) this.#continue(previous);
  }

  protected override run(count: number): void {
    const kernel = this.#kernel;
    kernel.state.set(this.#state);
    kernel.run(count, this.#groupCount);
    this.#state.set(kernel.state);
    this.#silenceFadedBands();
  }

  override reset(): void {
    for (let index = 0; index < this.#bands.length; index++) this.#clearBand(index);
    this.#state.fill(0, HISTORY_OFFSET);
  }

  /** Copies the state of each band: its ringing does not depend on its gain, so it rings on. */
  #continue(previous: EqualizerFilter): void {
    this.#state.set(previous.#state.subarray(HISTORY_OFFSET), HISTORY_OFFSET);
    for (const [index, band] of this.#bands.entries()) {
      const before = previous.#bands.indexOf(band);
      if (before < 0) continue;
      const from = before * BAND_NUMBERS;
      const ringing = previous.#state.subarray(from + BAND_STATE_OFFSET, from + STATE_END);
      this.#state.set(ringing, index * BAND_NUMBERS + BAND_STATE_OFFSET);
    }
  }

  /** Left and right are independent: one may be silent while the other plays. */
  #silenceFadedBands(): void {
    const state = this.#state;
    for (let index = 0; index < this.#bands.length; index++) {
      const at = index * BAND_NUMBERS + BAND_STATE_OFFSET;
      for (let side = at; side < at + 2; side++) {
        if (Math.abs(state[side]!) >= INAUDIBLE || Math.abs(state[side + 2]!) >= INAUDIBLE) continue;
        state[side] = 0;
        state[side + 2] = 0;
      }
    }
  }

  #clearBand(index: number): void {
    this.#state.fill(0, index * BAND_NUMBERS + BAND_STATE_OFFSET, index * BAND_NUMBERS + STATE_END);
  }
}

/** The gain of each band; the last entry for a band counts. */
function gainsOf(bands: SettingsOf<"equalizer">): readonly number[] {
  const gains = new Array<number>(BANDS.length).fill(0);
  for (const { band, gain } of bands) gains[band] = gain;
  return gains;
}

export const equalizer = defineFilter(
  "equalizer",
  EqualizerFilter,
  (bands, previous) => new EqualizerFilter(gainsOf(bands), previous),
);
