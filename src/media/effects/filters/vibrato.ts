// The vibrato filter: a delay that swings between 3 and `3 + 96 * depth` samples, so that the pitch wavers.
// Upstream's formula (third-order Hermite interpolation between samples) with an exact phase. The loop is in
// vibrato-kernel.ts. Audio thread; no allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { PAST_SAMPLES } from "../../kernels/numbers/vibrato.ts";
import { sharedVibratoKernel, type VibratoKernel } from "../../kernels/vibrato-kernel.ts";
import { defineFilter } from "./filter-definition.ts";
import { KernelFilter } from "./kernel-filter.ts";
import { Oscillator } from "./oscillator.ts";

/** Twice 1 ms: the range of the delay's swing at depth 1. */
const SWING_SAMPLES = 96;
const DELAY_SAMPLES_MIN = 3;

export class VibratoFilter extends KernelFilter {
  readonly #kernel: VibratoKernel;
  readonly #swingSamples: number;
  readonly #oscillator: Oscillator;
  readonly #pastLeft = new Float32Array(PAST_SAMPLES);
  readonly #pastRight = new Float32Array(PAST_SAMPLES);

  constructor({ frequency, depth }: SettingsOf<"vibrato">, previous?: VibratoFilter, kernel = sharedVibratoKernel()) {
    super(kernel.input, kernel.output);
    this.#kernel = kernel;
    this.#swingSamples = (SWING_SAMPLES * depth) / 2;
    this.#oscillator = new Oscillator(frequency, previous === undefined ? undefined : previous.#oscillator);
    if (previous === undefined) return;
    this.#pastLeft.set(previous.#pastLeft);
    this.#pastRight.set(previous.#pastRight);
  }

  protected override run(count: number): void {
    const kernel = this.#kernel;
    kernel.left.set(this.#pastLeft);
    kernel.right.set(this.#pastRight);
    const oscillator = this.#oscillator;
    oscillator.startBlock(count);
    const { sine, cosine, stepSine, stepCosine } = oscillator;
    const swing = this.#swingSamples;
    kernel.run(count, PAST_SAMPLES - DELAY_SAMPLES_MIN - swing, swing, sine, cosine, stepSine, stepCosine);
    for (let sample = 0; sample < PAST_SAMPLES; sample++) {
      this.#pastLeft[sample] = kernel.left[count + sample]!;
      this.#pastRight[sample] = kernel.right[count + sample]!;
    }
  }

  override reset(): void {
    this.#oscillator.reset();
    this.#pastLeft.fill(0);
    this.#pastRight.fill(0);
  }
}

export const vibrato = defineFilter(
  "vibrato",
  VibratoFilter,
  (settings, previous) => new VibratoFilter(settings, previous),
);
