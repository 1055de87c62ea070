// Measures how loud a track is, by EBU R128 and ITU-R BS.1770-4: blocks of 400 ms that overlap by three quarters, an
// absolute and a relative gate. Blocks are stored as counts in steps of 0.1 LU, so memory is bounded however long the
// track. Audio thread; no allocation once created.

import { INAUDIBLE } from "../../format/audio-format.ts";
import { type LoudnessKernel, sharedLoudnessKernel, WEIGHTING_NUMBERS } from "../../kernels/loudness-kernel.ts";

/** 100 ms: blocks of four of these begin at each. */
const STEP_SAMPLES = 4800;
const STEPS_PER_BLOCK = 4;
/** BS.1770-4 annex 1: the weighting's own gain at 997 Hz, subtracted again. */
const OFFSET_LU = -0.691;
/** Blocks at or below the absolute gate do not count. */
const ABSOLUTE_GATE_LUFS = -70;
/** Blocks this far below the mean of the others do not count. */
const RELATIVE_GATE_LU = -10;
const BINS_PER_LU = 10;
const LOUDNESS_LUFS_MAX = 20;
const BIN_COUNT = (LOUDNESS_LUFS_MAX - ABSOLUTE_GATE_LUFS) * BINS_PER_LU;
/** Half an hour. Then all earlier blocks count half: a radio station is not judged by yesterday. */
const BLOCKS_MAX = 18_000;

export class LoudnessMeter {
  readonly #kernel: LoudnessKernel;
  readonly #weighting = new Float64Array(WEIGHTING_NUMBERS);
  /** Ring buffer of the sums of squares of the last steps. */
  readonly #steps = new Float64Array(STEPS_PER_BLOCK);
  #stepCount = 0;
  #stepSamples = 0;
  #stepSum = 0;
  /** Blocks above the absolute gate: how many in each tenth of an LU, and the sum of their powers. */
  readonly #counts = new Float64Array(BIN_COUNT);
  readonly #powers = new Float64Array(BIN_COUNT);
  #blockCount = 0;
  #momentaryLufs = Number.NEGATIVE_INFINITY;
  #integratedLufs: number | undefined;

  constructor(kernel = sharedLoudnessKernel()) {
    this.#kernel = kernel;
  }

  /** Loudness of the last 400 ms, ungated; minus infinity before the first block and in silence. */
  get momentaryLufs(): number {
    return this.#momentaryLufs;
  }

  /** Loudness since the last reset; undefined as long as nothing was above the absolute gate. */
  get integratedLufs(): number | undefined {
    return this.#integratedLufs;
  }

  /** Measures `count` samples (48 kHz) in the kernel's memory from index `start` on. True when the results are new. */
  measure(start: number, count: number): boolean {
    const kernel = this.#kernel;
    kernel.state.set(this.#weighting);
    let isNew = false;
    for (let done = 0; done < count; ) {
      const pieceSamples = Math.min(count - done, STEP_SAMPLES - this.#stepSamples);
      this.#stepSum += kernel.weigh(start + done, pieceSamples);
      this.#stepSamples += pieceSamples;
      done += pieceSamples;
      if (this.#stepSamples < STEP_SAMPLES) continue;
      this.#endStep();
      isNew = true;
    }
    for (let number = 0; number < WEIGHTING_NUMBERS; number++) {
      const value = kernel.state[number]!;
      this.#weighting[number] = Math.abs(value) < INAUDIBLE ? 0 : value;
    }
    return isNew;
  }

  /** Starts another track. */
  reset(): void {
    this.#weighting.fill(0);
    this.#stepCount = 0;
    this.#stepSamples = 0;
    this.#stepSum = 0;
    this.#counts.fill(0);
    this.#powers.fill(0);
    this.#blockCount = 0;
    this.#momentaryLufs = Number.NEGATIVE_INFINITY;
    this.#integratedLufs = undefined;
  }

  #endStep(): void {
    this.#steps[this.#stepCount % STEPS_PER_BLOCK] = this.#stepSum;
    this.#stepCount += 1;
    this.#stepSamples = 0;
    this.#stepSum = 0;
    if (this.#stepCount < STEPS_PER_BLOCK) return;
    let sum = 0;
    for (let step = 0; step < STEPS_PER_BLOCK; step++) sum += this.#steps[step]!;
    const power = sum / (STEPS_PER_BLOCK * STEP_SAMPLES);
    this.#momentaryLufs = toLufs(power);
    if (this.#momentaryLufs <= ABSOLUTE_GATE_LUFS) return;
    const bin = binOf(this.#momentaryLufs);
    this.#counts[bin]! += 1;
    this.#powers[bin]! += power;
    this.#blockCount += 1;
    if (this.#blockCount >= BLOCKS_MAX) this.#forgetHalf();
    this.#integrate();
  }

  #integrate(): void {
    const gateLufs = this.#meanFrom(0) + RELATIVE_GATE_LU;
    this.#integratedLufs = this.#meanFrom(Math.max(0, binOf(gateLufs)));
  }

  /** The loudness of all blocks from a bin on. There is always one: the loudest is above the mean. */
  #meanFrom(firstBin: number): number {
    let count = 0;
    let power = 0;
    for (let bin = firstBin; bin < BIN_COUNT; bin++) {
      count += this.#counts[bin]!;
      power += this.#powers[bin]!;
    }
    return toLufs(power / count);
  }

  #forgetHalf(): void {
    this.#blockCount /= 2;
    for (let bin = 0; bin < BIN_COUNT; bin++) {
      this.#counts[bin]! /= 2;
      this.#powers[bin]! /= 2;
    }
  }
}

function toLufs(power: number): number {
  return OFFSET_LU + 10 * Math.log10(power);
}

function binOf(loudnessLufs: number): number {
  return Math.min(Math.floor((loudnessLufs - ABSOLUTE_GATE_LUFS) * BINS_PER_LU), BIN_COUNT - 1);
}
