// The filter tables for changing pitch by any factor, shared by all players of the thread, each with the scratch memory
// of its WebAssembly loop. The filter is shorter than the one for decoding (44 taps): flat to 18.5 kHz, 90 dB down
// where it aliases into the audible range. Audio thread.

import { INTERPOLATED_TAPS_STEP } from "../../../kernels/numbers/resampler.ts";
import { createResampleLoop, type ResampleLoop } from "../../../kernels/resampler-kernel.ts";

/** Resolution of positions between two samples: a factor of 1 is exact to 0.002 cents. */
export const PHASE_COUNT = 2 ** 20;
/** Samples per channel and call, in (on top of the taps) and out. */
export const SCRATCH_SAMPLES = 1024;
/** Up to this factor the filter grows with it, beyond by less: treble goes, but nothing aliases. */
const FULL_FACTOR = 2;
const TAPS_PER_FACTOR = 44;
const TAPS_PER_FACTOR_BEYOND = 16;
/**
 * The stopband begins here, as a share of the narrower rate: 24.9 kHz. Frequencies between 24 kHz and that fold back to
 * above 23.
 */
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
/** Input that a player retains: both halves of the longest filter, a block, and once the silence behind the end. */
export const INPUT_SAMPLES = TAP_COUNT_MAX + SCRATCH_SAMPLES + TAP_COUNT_MAX / 2;
/** Tables cached (60 kB for usual factors, up to 70 kB). */
const CACHED_KERNELS_MAX = 8;

interface Stereo {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

/** The loop's memory: the table, the input and the output. */
interface WorkMemory {
  readonly loop: ResampleLoop;
  readonly input: Stereo;
  readonly output: Stereo;
  readonly rowsPerPhase: number;
}

export class TimescaleKernel {
  /** Input samples used for one output; half of them lie behind it. */
  readonly tapCount: number;
  readonly #factor: number;
  /** Created when audio first goes through: at factor 1 never. */
  #workMemory: WorkMemory | undefined;

  constructor(factor: number) {
    this.tapCount = tapCountFor(factor);
    this.#factor = factor;
  }

  /**
   * Produces `count` samples, the first from the inputs `from` and `tapCount` on at `phase`, each `step` (both of
   * PHASE_COUNT) after the last. `input` has INPUT_SAMPLES. The result is valid until the next run of any kernel.
   */
  run(
    input: Stereo,
    from: number,
    { phase, step, count }: { readonly phase: number; readonly step: number; readonly count: number },
  ): Stereo {
    this.#workMemory ??= createWorkMemory(this.#factor);
    const { loop, input: ownInput, output, rowsPerPhase } = this.#workMemory;
    // Copying whole arrays is fast and creates no view.
    ownInput.left.set(input.left);
    ownInput.right.set(input.right);
    const stepSamples = Math.floor(step / PHASE_COUNT);
    loop.run(
      0,
      this.tapCount * 4,
      ownInput.left.byteOffset + from * 4,
      ownInput.right.byteOffset + from * 4,
      output.left.byteOffset,
      output.right.byteOffset,
      count,
      phase,
      PHASE_COUNT,
      stepSamples * 4,
      step - stepSamples * PHASE_COUNT,
      rowsPerPhase,
    );
    return output;
  }
}

function createWorkMemory(factor: number): WorkMemory {
  const tapCount = tapCountFor(factor);
  const rowCount = Math.max(ROW_COUNT_MIN, Math.ceil(ROW_COUNT / factor));
  const tableSamples = (rowCount + 1) * tapCount;
  const loop = createResampleLoop(tableSamples + 2 * INPUT_SAMPLES + 2 * SCRATCH_SAMPLES, { isInterpolated: true });
  const filter = { tapCount, cutoff: STOP / factor - TRANSITION / tapCount / 2 };
  for (let row = 0; row <= rowCount / 2; row++) loop.fillRow(row, rowCount, filter);
  const stereo = (start: number, length: number) => ({
    left: loop.floats.subarray(start, start + length),
    right: loop.floats.subarray(start + length, start + 2 * length),
  });
  const input = stereo(tableSamples, INPUT_SAMPLES);
  const output = stereo(tableSamples + 2 * INPUT_SAMPLES, SCRATCH_SAMPLES);
  return { loop, input, output, rowsPerPhase: rowCount / PHASE_COUNT };
}

/** A whole number of steps of the loop. */
function tapCountFor(factor: number): number {
  const full = Math.min(factor, FULL_FACTOR) * TAPS_PER_FACTOR;
  const taps = full + Math.max(0, factor - FULL_FACTOR) * TAPS_PER_FACTOR_BEYOND;
  return INTERPOLATED_TAPS_STEP * Math.ceil(taps / INTERPOLATED_TAPS_STEP);
}

// A bounded cache of a pure function: a factor's filter never changes.
const kernels = new Map<number, TimescaleKernel>();

/**
 * The shared filter for playing audio `factor` times as fast. A new one computes its table at its first run, in 0.2 ms.
 */
export function timescaleKernel(factor: number): TimescaleKernel {
  const steps = Math.max(0, Math.ceil(Math.log2(factor) * STEPS_PER_OCTAVE - 1e-9));
  const kernel = kernels.get(steps) ?? new TimescaleKernel(2 ** (steps / STEPS_PER_OCTAVE));
  // Re-inserting moves it to the young end; the oldest is dropped.
  kernels.delete(steps);
  kernels.set(steps, kernel);
  for (const oldest of kernels.keys()) {
    if (kernels.size <= CACHED_KERNELS_MAX) break;
    kernels.delete(oldest);
  }
  return kernel;
}
