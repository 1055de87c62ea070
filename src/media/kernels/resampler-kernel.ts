// The filter tables of the resampler, one per conversion ratio and shared by all streams of the thread, each with the
// scratch memory its WebAssembly loop works in. Windowed sinc (Kaiser), polyphase. Audio thread.

import { SAMPLE_RATE_HZ } from "../format/audio-format.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { F32_BYTES } from "./numbers/block.ts";
import { TAPS_STEP } from "./numbers/resampler.ts";
import { WasmKernel } from "./wasm-loop.ts";

/** Stopband of the filter. 90 dB are guaranteed; float32 taps and the normalisation of phases cost less than 1 dB. */
const STOPBAND_DB = 93;
/** Kaiser's formulas: shape for this stopband, and transition width times length. */
const KAISER_BETA = 0.1102 * (STOPBAND_DB - 8.7);
const KAISER_WIDTH = (STOPBAND_DB - 7.95) / 14.36;
/** The modified Bessel function of order 0, a power series, of the shape times a root: its squares contain no root. */
const KAISER_TERMS = 24;
const KAISER_SERIES = kaiserSeries();
/** Above 44.1 kHz the passband needs to reach 20 kHz only: where the transition may begin (its first tenth is flat). */
const TRANSITION_START_HZ = 19_550;
/** Below that it begins at this part of the Nyquist frequency: 20 kHz are then flat to 0.06 dB for 44.1 kHz. */
const TRANSITION_SHARE = 0.1058;
/** Rows of an interpolated table per sample of the narrower band: linear interpolation is then 106 dB exact. */
const INTERPOLATED_ROWS = 512;
/** Larger tables than this are interpolated instead. 640 rows of 112 taps are what 11025 Hz needs. */
const EXACT_TAPS_MAX = 640 * 112;
/** Samples per channel and call, in and out. */
const SCRATCH_SAMPLES = 4096;
/** Tables cached for later streams (up to 0.5 MB each); those in use live as long as their stream. */
const CACHED_KERNELS_MAX = 8;

/** The exports of assembly/resampler.ts. */
interface ResamplerExports {
  fillRow(
    first: number,
    mirrored: number,
    tapCount: number,
    time: number,
    series: number,
    terms: number,
    turn: number,
    sine: number,
    cosine: number,
    stepSine: number,
    stepCosine: number,
  ): void;
  readonly resample: ResampleFunction;
  readonly resampleInterpolated: ResampleFunction;
}

type ResampleFunction = (
  table: number,
  rowBytes: number,
  left: number,
  right: number,
  outLeft: number,
  outRight: number,
  count: number,
  phase: number,
  phaseCount: number,
  stepBytes: number,
  stepPhase: number,
  rowsPerPhase: number,
) => void;

const WASM = new WasmKernel<ResamplerExports>("resampler");

/** One ratio's filter. Stateless between calls: streams of the same rate share its scratch memory. */
export class ResamplerKernel {
  /** Output positions within one input sample: a step of one output is `stepPhase / phaseCount` inputs. */
  readonly phaseCount: number;
  /** Input samples per `phaseCount` outputs. */
  readonly phaseStep: number;
  /** Input samples used for one output; half of them lie behind it. */
  readonly tapCount: number;
  /** Most input samples a stream may put into the scratch memory on top of `tapCount`, so that the output fits too. */
  readonly inputSamplesMax: number;
  readonly inputLeft: Float32Array;
  readonly inputRight: Float32Array;
  readonly outputLeft: Float32Array;
  readonly outputRight: Float32Array;
  readonly #rowsPerPhase: number;
  readonly #loop: ResampleLoop;
  readonly #filter: Filter;
  readonly #rowCount: number;
  #filledRows = 0;

  /** `isSimd` false forces the plain loop (for tests; it is used automatically where WebAssembly has no SIMD). */
  constructor(inputRateHz: number, { isSimd = true }: { readonly isSimd?: boolean } = {}) {
    const divisor = greatestCommonDivisor(inputRateHz, SAMPLE_RATE_HZ);
    this.phaseCount = SAMPLE_RATE_HZ / divisor;
    this.phaseStep = inputRateHz / divisor;
    const filter = designFilter(inputRateHz);
    this.tapCount = filter.tapCount;
    const isExact = this.phaseCount * filter.tapCount <= EXACT_TAPS_MAX;
    const rowCount = isExact ? this.phaseCount : filter.interpolatedRowCount;
    this.#rowsPerPhase = rowCount / this.phaseCount;
    this.inputSamplesMax = Math.floor(Math.min(1, inputRateHz / SAMPLE_RATE_HZ) * (SCRATCH_SAMPLES - 64));

    // One row more than needed: the upper neighbour of the last one when interpolating.
    const tableSamples = (rowCount + 1) * this.tapCount;
    const inputSamples = this.tapCount + SCRATCH_SAMPLES;
    const sampleCount = tableSamples + 2 * inputSamples + 2 * SCRATCH_SAMPLES;
    const isInterpolated = this.#rowsPerPhase < 1;
    this.#loop = createResampleLoop(sampleCount, { isInterpolated, isSimd });
    this.#filter = filter;
    this.#rowCount = rowCount;
    const { floats } = this.#loop;
    const view = (start: number, length: number) => floats.subarray(start, start + length);
    this.inputLeft = view(tableSamples, inputSamples);
    this.inputRight = view(tableSamples + inputSamples, inputSamples);
    this.outputLeft = view(tableSamples + 2 * inputSamples, SCRATCH_SAMPLES);
    this.outputRight = view(tableSamples + 2 * inputSamples + SCRATCH_SAMPLES, SCRATCH_SAMPLES);
  }

  get sizeBytes(): number {
    return this.#loop.floats.byteLength;
  }

  /** Computes one more row of the table (and its mirror image); false when all are done. `run` needs all of them. */
  fillRow(): boolean {
    // The second half of the rows is the first one backwards.
    if (this.#filledRows > this.#rowCount / 2) return false;
    this.#loop.fillRow(this.#filledRows, this.#rowCount, this.#filter);
    this.#filledRows += 1;
    return true;
  }

  /** Writes `count` samples to the outputs, the first from the inputs 0 to `tapCount - 1` at position `phase`. */
  run(phase: number, count: number): void {
    const stepSamples = Math.floor(this.phaseStep / this.phaseCount);
    this.#loop.run(
      0,
      this.tapCount * 4,
      this.inputLeft.byteOffset,
      this.inputRight.byteOffset,
      this.outputLeft.byteOffset,
      this.outputRight.byteOffset,
      count,
      phase,
      this.phaseCount,
      stepSamples * 4,
      this.phaseStep - stepSamples * this.phaseCount,
      this.#rowsPerPhase,
    );
  }
}

// A bounded memo of a pure function: what a rate's filter is never changes.
const kernels = new Map<number, ResamplerKernel>();

/** The shared filter for one input rate (a whole number of Hz). A new one takes a millisecond or more to compute. */
export function kernelForRate(inputRateHz: number): ResamplerKernel {
  const kernel = kernels.get(inputRateHz) ?? new ResamplerKernel(inputRateHz);
  while (kernel.fillRow());
  keep(inputRateHz, kernel);
  return kernel;
}

/** True when `kernelForRate` would not have to compute, or audio of this rate needs no conversion. */
export function isRateReady(inputRateHz: number): boolean {
  return inputRateHz === SAMPLE_RATE_HZ || kernels.has(inputRateHz);
}

/** Computes the filter for one input rate in time slices. */
export async function prepareRate(inputRateHz: number, budget: TrackBudget): Promise<void> {
  const kernel = new ResamplerKernel(inputRateHz);
  do if (budget.isSpent) await budget.yield();
  while (kernel.fillRow());
  budget.pause();
  keep(inputRateHz, kernel);
}

function keep(inputRateHz: number, kernel: ResamplerKernel): void {
  // Re-inserting moves it to the young end; the oldest is dropped.
  kernels.delete(inputRateHz);
  kernels.set(inputRateHz, kernel);
  for (const oldest of kernels.keys()) {
    if (kernels.size <= CACHED_KERNELS_MAX) break;
    kernels.delete(oldest);
  }
}

/** The inner loop and its memory, made by `createResampleLoop`; without SIMD the same in plain code. */
export interface ResampleLoop {
  /** The memory the loop works in. */
  readonly floats: Float32Array;
  readonly run: ResampleFunction;
  /**
   * Writes row r of `rowCount` and its mirror image, row rowCount - r, to the table at the start of `floats`. Row r
   * holds the taps for an output that lies r / rowCount of an input sample behind tap number tapCount / 2 - 1.
   */
  readonly fillRow: (row: number, rowCount: number, filter: TableFilter) => void;
}

/** The inner loop with a memory for this many samples; `isInterpolated` for tables with fewer rows than phases. */
export function createResampleLoop(
  sampleCount: number,
  { isInterpolated, isSimd = true }: { readonly isInterpolated: boolean; readonly isSimd?: boolean },
): ResampleLoop {
  const seriesByte = 8 * Math.ceil((sampleCount * F32_BYTES) / 8);
  const { memory, exports } = WASM.createLoop({
    isSimd,
    sizeBytes: seriesByte + KAISER_SERIES.byteLength,
  });
  const floats = new Float32Array(memory);
  if (exports === undefined) {
    const fillRow: ResampleLoop["fillRow"] = (row, rowCount, filter) =>
      fillRowPlainly(floats, { row, rowCount, ...filter });
    return { floats, run: plainResample(floats), fillRow };
  }
  new Float64Array(memory, seriesByte, KAISER_TERMS).set(KAISER_SERIES);
  const run = exports[isInterpolated ? "resampleInterpolated" : "resample"];
  const fillRow: ResampleLoop["fillRow"] = (row, rowCount, filter) =>
    fillRowFast(exports, seriesByte, { row, rowCount, ...filter });
  return { floats, run, fillRow };
}

interface TableRow extends TableFilter {
  readonly row: number;
  readonly rowCount: number;
}

function fillRowFast(
  { fillRow }: ResamplerExports,
  seriesByte: number,
  { row, rowCount, tapCount, cutoff }: TableRow,
): void {
  const turn = 2 * Math.PI * cutoff;
  const time = 1 - tapCount / 2 - row / rowCount;
  const first = row * tapCount * 4;
  const mirrored = (rowCount - row + 1) * tapCount * 4 - 4;
  const [sine, cosine] = [Math.sin(turn * time), Math.cos(turn * time)];
  const [stepSine, stepCosine] = [Math.sin(turn), Math.cos(turn)];
  fillRow(first, mirrored, tapCount, time, seriesByte, KAISER_TERMS, turn, sine, cosine, stepSine, stepCosine);
}

type TableFilter = Pick<Filter, "tapCount" | "cutoff">;

interface Filter {
  readonly tapCount: number;
  /** Middle of the transition band, as part of the input rate. */
  readonly cutoff: number;
  readonly interpolatedRowCount: number;
}

/** The stopband begins where the narrower of the two rates ends: nothing folds back into the audible range. */
function designFilter(inputRateHz: number): Filter {
  const stopHz = Math.min(inputRateHz, SAMPLE_RATE_HZ) / 2;
  const transitionHz = Math.max(TRANSITION_SHARE * stopHz, stopHz - TRANSITION_START_HZ);
  const tapCount = TAPS_STEP * Math.ceil((KAISER_WIDTH * inputRateHz) / transitionHz / TAPS_STEP);
  const cutoff = stopHz / inputRateHz - KAISER_WIDTH / tapCount / 2;
  return { tapCount, cutoff, interpolatedRowCount: Math.ceil((INTERPOLATED_ROWS * 2 * stopHz) / inputRateHz) };
}

function fillRowPlainly(table: Float32Array, { row, rowCount, tapCount, cutoff }: TableRow): void {
  const taps = new Float64Array(tapCount);
  let sum = 0;
  for (let tap = 0; tap < tapCount; tap++) {
    const time = tap - (tapCount / 2 - 1) - row / rowCount;
    const angle = 2 * Math.PI * cutoff * time;
    const value = kaiserWindow((2 * time) / tapCount) * (angle === 0 ? 1 : Math.sin(angle) / angle);
    taps[tap] = value;
    sum += value;
  }
  const first = row * tapCount;
  const mirrored = (rowCount - row + 1) * tapCount - 1;
  // Each phase passes a constant unchanged.
  for (let tap = 0; tap < tapCount; tap++) {
    table[first + tap] = taps[tap]! / sum;
    table[mirrored - tap] = taps[tap]! / sum;
  }
}

function kaiserSeries(): Float64Array {
  const series = new Float64Array(KAISER_TERMS);
  let coefficient = 1;
  for (let term = 0; term < KAISER_TERMS; term++) {
    if (term > 0) coefficient *= (KAISER_BETA / (2 * term)) ** 2;
    series[term] = coefficient;
  }
  const middle = series.reduce((sum, value) => sum + value, 0);
  return series.map((value) => value / middle);
}

/** 1 in the middle (0), almost 0 at either edge (-1 and 1), 0 beyond. */
function kaiserWindow(edge: number): number {
  const height = 1 - edge * edge;
  if (height < 0) return 0;
  let value = 0;
  for (let term = KAISER_TERMS - 1; term >= 0; term--) value = value * height + KAISER_SERIES[term]!;
  return value;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** The loop in plain JavaScript, ten times slower. */
function plainResample(floats: Float32Array): ResampleFunction {
  const dot = (tap: number, input: number, tapCount: number) => {
    let even = 0;
    let odd = 0;
    for (let index = 0; index < tapCount; index += 2) {
      even += floats[tap + index]! * floats[input + index]!;
      odd += floats[tap + index + 1]! * floats[input + index + 1]!;
    }
    return even + odd;
  };
  return (
    table,
    rowBytes,
    left,
    right,
    outLeft,
    outRight,
    count,
    phase,
    phaseCount,
    stepBytes,
    stepPhase,
    rowScale,
  ) => {
    const tapCount = rowBytes / 4;
    let position = phase;
    let offset = 0;
    for (let index = 0; index < count; index++) {
      const row = position * rowScale;
      const tap = table / 4 + Math.floor(row) * tapCount;
      const mix = rowScale === 1 ? 0 : row - Math.floor(row);
      for (const [input, output] of [
        [left / 4 + offset, outLeft / 4],
        [right / 4 + offset, outRight / 4],
      ] as const) {
        const sum = dot(tap, input, tapCount);
        floats[output + index] = mix === 0 ? sum : sum + mix * (dot(tap + tapCount, input, tapCount) - sum);
      }
      position += stepPhase;
      offset += stepBytes / 4;
      if (position >= phaseCount) {
        position -= phaseCount;
        offset++;
      }
    }
  };
}
