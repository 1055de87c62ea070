// Tonearm's phaser filter: four all-pass stages beside the dry audio, so that two notches sweep through it. The right
// side sweeps a quarter of a turn ahead of the left one. The loop is in phaser-kernel.ts. Feedback is two samples late:
// with one, each sample waits for all stages of the last, 0.62 instead of 0.40 ms per second. Audio thread; no
// allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { INAUDIBLE, SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import { PHASER_STATE_NUMBERS } from "../../kernels/numbers/phaser.ts";
import { type Phasing, sharedPhaserKernel } from "../../kernels/phaser-kernel.ts";
import { defineFilter } from "./filter-definition.ts";
import { KernelFilter } from "./kernel-filter.ts";
import { Oscillator } from "./oscillator.ts";

/** Where each stage turns by a quarter: the notches lie at 0.41 and 2.41 times that. */
const CENTRE_HZ = 800;
/** How far the centre sweeps at depth 1: two octaves up and down. */
const SWEEP = Math.log(4);
/** The stages are tuned this often, and glide in between. */
const BLOCK_SAMPLES = 64;

export class PhaserFilter extends KernelFilter {
  readonly #kernel;
  readonly #depth: number;
  readonly #feedback: number;
  readonly #oscillator: Oscillator;
  /** Where the last block ended. */
  readonly #phasing: Phasing;
  #hasStarted: boolean;
  readonly #state = new Float64Array(PHASER_STATE_NUMBERS);

  constructor(
    { frequency, depth, feedback, mix }: SettingsOf<"phaser">,
    previous?: PhaserFilter,
    kernel = sharedPhaserKernel(),
  ) {
    super(kernel);
    this.#kernel = kernel;
    this.#depth = depth;
    this.#feedback = feedback;
    this.#oscillator = new Oscillator(frequency, previous === undefined ? undefined : previous.#oscillator);
    this.#phasing = { ...(previous === undefined ? STILL : previous.#phasing), mix };
    this.#hasStarted = previous === undefined ? false : previous.#hasStarted;
    if (previous !== undefined) this.#state.set(previous.#state);
  }

  override reset(): void {
    this.#oscillator.reset();
    this.#state.fill(0);
    this.#hasStarted = false;
  }

  protected override run(count: number): void {
    const kernel = this.#kernel;
    kernel.state.set(this.#state);
    for (let start = 0; start < count; start += BLOCK_SAMPLES)
      this.#sweep(start, Math.min(start + BLOCK_SAMPLES, count));
    this.#state.set(kernel.state);
    if (this.#state.every((value) => Math.abs(value) < INAUDIBLE)) this.#state.fill(0);
  }

  #sweep(start: number, end: number): void {
    const [oscillator, phasing] = [this.#oscillator, this.#phasing];
    oscillator.startBlock(end - start);
    const left = tuningOf(this.#depth * oscillator.sine);
    const right = tuningOf(this.#depth * oscillator.cosine);
    if (!this.#hasStarted) Object.assign(phasing, { left, right, feedback: this.#feedback });
    this.#hasStarted = true;
    phasing.leftStep = (left - phasing.left) / (end - start);
    phasing.rightStep = (right - phasing.right) / (end - start);
    phasing.feedbackStep = (this.#feedback - phasing.feedback) / (end - start);
    this.#kernel.run(start, end, phasing);
    phasing.left = left;
    phasing.right = right;
    phasing.feedback = this.#feedback;
  }
}

const STILL: Phasing = { left: 0, right: 0, feedback: 0, leftStep: 0, rightStep: 0, feedbackStep: 0, mix: 0 };

/** The stages' coefficient for a sweep of -1 to 1: (t - 1) / (t + 1), t the tangent of half the angle per sample. */
function tuningOf(sweep: number): number {
  const half = ((Math.PI * CENTRE_HZ) / SAMPLE_RATE_HZ) * Math.exp(SWEEP * sweep);
  // The tangent to five digits, as far up as the sweep goes.
  const square = half * half;
  const t = half * (1 + (square / 3) * (1 + 0.4 * square));
  return (t - 1) / (t + 1);
}

export const phaser = defineFilter(
  "phaser",
  PhaserFilter,
  (settings, previous) => new PhaserFilter(settings, previous),
);
