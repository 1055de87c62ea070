// The filter tables for changing pitch by any factor, shared by all players of the thread, each with the scratch memory its
// WebAssembly loop works in. A shorter filter than that for decoding (44 taps): flat to 18.5 kHz, 90 dB down where it
// aliases into what can be heard. Audio thread.

import { createResampleLoop, fillTable, type ResampleLoop } from "../decode/resampler-kernel.ts";

/** Positions between two samples are told apart this finely: a factor of 1 is exact to 0.002 cents. */
export const PHASE_COUNT = 2 ** 20;
/** Samples per channel and call, in (on top of the taps) and out. */
export const SCRATCH_SAMPLES = 1024;
/** Up to this factor the filter grows with it, beyond by less: treble goes, but nothing aliases. */
const FULL_FACTOR = 2;
const TAPS_PER_FACTOR = 44;
const TAPS_PER_FACTOR_BEYOND = 16;
/** The stopband begins here, part of the narrower rate: 24.9 kHz. What lies between 24 and that folds back to above 23. */
const STOP = 0.52;
/** Kaiser's formula for 93 dB: width of the transition band times length. */
const TRANSITION = 5.92;
/** Rows of the table per sample of the narrower band; between rows it is interpolated. */
const ROW_COUNT = 256;
const ROW_COUNT_MIN = 16;
/** Factors above 1 share tables in steps of a 24th of an octave, rounded up. */
const STEPS_PER_OCTAVE = 24;
/** Largest factor, and so most taps. */
export const FACTOR_MAX = 16;
export const TAP_COUNT_MAX = tapCountFor(FACTOR_MAX);
/** What a player keeps of its input: both halves of the longest filter, a block, and once the silence behind the end. */
export const INPUT_SAMPLES = TAP_COUNT_MAX + SCRATCH_SAMPLES + TAP_COUNT_MAX / 2;
/** Tables kept (60 kB for usual factors, up to 70 kB). */
const CACHED_KERNELS_MAX = 8;

export class TimescaleKernel {
  /** Input samples that one output looks at; half of them lie behind it. */
  readonly tapCount: number;
  readonly inputLeft: Float32Array;
  readonly inputRight: Float32Array;
  readonly outputLeft: Float32Array;
  readonly outputRight: Float32Array;
  readonly #rowsPerPhase: number;
  readonly #loop: ResampleLoop;

  constructor(factor: number) {
    this.tapCount = tapCountFor(factor);
    const rowCount = Math.max(ROW_COUNT_MIN, Math.ceil(ROW_COUNT / factor));
    this.#rowsPerPhase = rowCount / PHASE_COUNT;
    const tableSamples = (rowCount + 1) * this.tapCount;
    const sampleCount = tableSamples + 2 * INPUT_SAMPLES + 2 * SCRATCH_SAMPLES;
    this.#loop = createResampleLoop(sampleCount, { isInterpolated: true });
    const { floats } = this.#loop;
    fillTable(floats, rowCount, { tapCount: this.tapCount, cutoff: STOP / factor - TRANSITION / this.tapCount / 2 });
    const view = (start: number, length: number) => floats.subarray(start, start + length);
    this.inputLeft = view(tableSamples, INPUT_SAMPLES);
    this.inputRight = view(tableSamples + INPUT_SAMPLES, INPUT_SAMPLES);
    this.outputLeft = view(tableSamples + 2 * INPUT_SAMPLES, SCRATCH_SAMPLES);
    this.outputRight = view(tableSamples + 2 * INPUT_SAMPLES + SCRATCH_SAMPLES, SCRATCH_SAMPLES);
  }

  /**
   * Writes `count` samples to the outputs, the first from the inputs `from` and `tapCount` on at `phase`, each `step` (both
   * of PHASE_COUNT) after the last.
   */
  run(from: number, { phase, step, count }: { phase: number; step: number; count: number }): void {
    const stepSamples = Math.floor(step / PHASE_COUNT);
    this.#loop.run(
      0,
      this.tapCount * 4,
      this.inputLeft.byteOffset + from * 4,
      this.inputRight.byteOffset + from * 4,
      this.outputLeft.byteOffset,
      this.outputRight.byteOffset,
      count,
      phase,
      PHASE_COUNT,
      stepSamples * 4,
      step - stepSamples * PHASE_COUNT,
      this.#rowsPerPhase,
    );
  }
}

/** A whole number of 16-byte steps of the loop. */
function tapCountFor(factor: number): number {
  const full = Math.min(factor, FULL_FACTOR) * TAPS_PER_FACTOR;
  return 4 * Math.ceil((full + Math.max(0, factor - FULL_FACTOR) * TAPS_PER_FACTOR_BEYOND) / 4);
}

// A bounded memo of a pure function: what a factor's filter is never changes.
const kernels = new Map<number, TimescaleKernel>();

/** The shared filter for going through sound `factor` times as fast. A new one takes 1 to 2 ms to compute. */
export function timescaleKernel(factor: number): TimescaleKernel {
  const steps = Math.max(0, Math.ceil(Math.log2(factor) * STEPS_PER_OCTAVE - 1e-9));
  const kernel = kernels.get(steps) ?? new TimescaleKernel(2 ** (steps / STEPS_PER_OCTAVE));
  // Re-inserting moves it to the young end; the oldest goes.
  kernels.delete(steps);
  kernels.set(steps, kernel);
  for (const oldest of kernels.keys()) {
    if (kernels.size <= CACHED_KERNELS_MAX) break;
    kernels.delete(oldest);
  }
  return kernel;
}
