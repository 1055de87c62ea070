// Adds the audio a little later, by a delay that swings: chorus and flanger. The right side swings a quarter of a turn
// ahead of the left one, which makes it wide. The loop is in modulated-delay-kernel.ts. Audio thread; no allocation
// once created.

import { type Drive, ModulatedDelayKernel, STILL } from "../../kernels/modulated-delay-kernel.ts";
import { DELAY_SAMPLES_MIN } from "../../kernels/numbers/modulated-delay.ts";
import { KernelFilter } from "./kernel-filter.ts";
import { Oscillator } from "./oscillator.ts";

/** 5 ms: a step in the delay or in the feedback would be audible. */
const GLIDE_SAMPLES = 240;

export interface ModulatedDelaySettings {
  readonly frequencyHz: number;
  /** The delay swings between these two: four samples at least, 85 ms at most. */
  readonly delaySamplesMin: number;
  readonly delaySamplesMax: number;
  /** Share of the delayed audio that is delayed again, below 1. */
  readonly feedback: number;
  /** Share of the delayed audio in the output. */
  readonly mix: number;
}

export class ModulatedDelay extends KernelFilter {
  readonly #kernel: ModulatedDelayKernel;
  readonly #mix: number;
  readonly #oscillator: Oscillator;
  readonly #target: Readonly<Drive>;
  /** Moves to the target during a glide. */
  readonly #drive: Drive;
  #glideSamplesLeft = GLIDE_SAMPLES;

  /** `isSimd` false forces the plain loop (for tests). */
  constructor(
    { frequencyHz, feedback, mix, ...delay }: ModulatedDelaySettings,
    { previous, isSimd = true }: { readonly previous: ModulatedDelay | undefined; readonly isSimd?: boolean },
  ) {
    const kernel = new ModulatedDelayKernel({
      previous: previous === undefined ? undefined : previous.#kernel,
      isSimd,
    });
    super(kernel);
    this.#kernel = kernel;
    const longest = Math.max(delay.delaySamplesMax, DELAY_SAMPLES_MIN);
    const shortest = Math.max(delay.delaySamplesMin, DELAY_SAMPLES_MIN);
    this.#mix = mix;
    this.#target = { centre: (longest + shortest) / 2, swing: (longest - shortest) / 2, feedback, input: 1 };
    // Audio is faded into an empty line.
    this.#drive = previous === undefined ? { ...this.#target, input: 0 } : { ...previous.#drive };
    this.#oscillator = new Oscillator(frequencyHz, previous === undefined ? undefined : previous.#oscillator);
  }

  override reset(): void {
    this.#kernel.clear();
    this.#oscillator.reset();
    Object.assign(this.#drive, this.#target);
    this.#drive.input = 0;
    this.#glideSamplesLeft = GLIDE_SAMPLES;
  }

  release(): void {
    this.#kernel.release();
  }

  protected override run(count: number): void {
    const glideSamples = Math.min(this.#glideSamplesLeft, count);
    if (glideSamples > 0) this.#glide(glideSamples);
    if (glideSamples < count) this.#swingOver(glideSamples, count, STILL);
  }

  #glide(count: number): void {
    const [target, drive, share] = [this.#target, this.#drive, 1 / this.#glideSamplesLeft];
    this.#swingOver(0, count, {
      centre: (target.centre - drive.centre) * share,
      swing: (target.swing - drive.swing) * share,
      feedback: (target.feedback - drive.feedback) * share,
      input: (target.input - drive.input) * share,
    });
    this.#glideSamplesLeft -= count;
    if (this.#glideSamplesLeft === 0) Object.assign(drive, target);
  }

  #swingOver(start: number, end: number, step: Readonly<Drive>): void {
    this.#oscillator.startBlock(end - start);
    this.#kernel.run(start, end, { oscillator: this.#oscillator, drive: this.#drive, step, mix: this.#mix });
  }
}
