// The loops over samples for loudness, and their memory, one for all players of the thread: the K weighting of ITU-R
// BS.1770-4 annex 1, the peaks between samples of its annex 2 (at eight times the rate), and the gain. WebAssembly
// where the processor has SIMD, else the same in plain JavaScript, several times slower. Audio thread.

import {
  CHUNK_GAINS,
  CHUNK_GAINS_MAX,
  CHUNK_PEAKS,
  CHUNK_SAMPLES,
  HIGH_PASS_A1,
  HIGH_PASS_A2,
  LOUDNESS_LEFT,
  LOUDNESS_LEFT_OUT,
  LOUDNESS_OUT_SAMPLES,
  LOUDNESS_RIGHT,
  LOUDNESS_RIGHT_OUT,
  LOUDNESS_SAMPLES,
  PEAK_TAPS,
  REACH_BEFORE_SAMPLES,
  REACH_BEHIND_SAMPLES,
  SHELF_A1,
  SHELF_A2,
  SHELF_B0,
  SHELF_B1,
  SHELF_B2,
  TAP_PAIRS,
  TAPS_PER_PAIR,
  WEIGHTING_STATE,
} from "./numbers/loudness.ts";
import { sanitize } from "./sane-samples.ts";
import { WasmKernel } from "./wasm-loop.ts";

/** Two filters of order two, each with two numbers for left and right. */
export const WEIGHTING_NUMBERS = 8;
/** The most by which audio between samples exceeds the samples around it: the sum of the longest row of taps. */
const ABOVE_SAMPLES_MAX = 2.05;
/**
 * The most by which audio up to 20 kHz exceeds its values at the samples and half way between: 1 / cos(2π 20 / 48 / 4).
 */
const ABOVE_HALVES_MAX = 1.27;

/** Shape of the Kaiser window: within 0.2 dB up to 18 kHz; half a decibel too low at 20 kHz, where Opus ends. */
const WINDOW_SHAPE = 3.5;
/** Positions between a sample and the next: half way, and those that stand for two each. */
const HALF_WAY = 0.5;
const EARLY_POSITIONS = [1 / 8, 2 / 8, 3 / 8];

interface LoudnessExports {
  weigh(start: number, count: number): number;
  /**
   * A chunk with no sample above `quiet` needs no more, nor does one with nothing above `close` half way between
   * samples.
   */
  peaks(start: number, count: number, quiet: number, close: number): void;
  makeSane(start: number, count: number): void;
  scale(start: number, count: number, within: number): void;
}

const WASM = new WasmKernel<LoudnessExports>("loudness");

/**
 * Audio goes in through `left` and `right`, from the index that its methods name; `leftOut`, `rightOut` and `peaks` are
 * valid until the next call.
 */
export class LoudnessKernel {
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly leftOut: Float32Array;
  readonly rightOut: Float32Array;
  /** For `scale`: per chunk the factor at its start, and its increase from sample to sample. */
  readonly gains: Float32Array;
  /** State of the weighting; set before `weigh`, read back after it. */
  readonly state: Float64Array;
  /** Result of `findPeaks`. */
  readonly peaks: Float32Array;
  readonly #taps: Float32Array;
  readonly #exports: LoudnessExports;

  /** `isSimd` false forces the plain loops (for tests). */
  constructor({ isSimd = true }: { readonly isSimd?: boolean } = {}) {
    const { memory, exports } = WASM.createLoop({ isSimd });
    this.state = new Float64Array(memory, WEIGHTING_STATE, WEIGHTING_NUMBERS);
    this.peaks = new Float32Array(memory, CHUNK_PEAKS, LOUDNESS_SAMPLES / CHUNK_SAMPLES);
    this.left = new Float32Array(memory, LOUDNESS_LEFT, LOUDNESS_SAMPLES);
    this.right = new Float32Array(memory, LOUDNESS_RIGHT, LOUDNESS_SAMPLES);
    this.leftOut = new Float32Array(memory, LOUDNESS_LEFT_OUT, LOUDNESS_OUT_SAMPLES);
    this.rightOut = new Float32Array(memory, LOUDNESS_RIGHT_OUT, LOUDNESS_OUT_SAMPLES);
    this.gains = new Float32Array(memory, CHUNK_GAINS, 2 * CHUNK_GAINS_MAX);
    this.#taps = new Float32Array(memory, PEAK_TAPS, TAP_PAIRS * TAPS_PER_PAIR * 4);
    this.#taps.set(interpolationTaps());
    this.#exports = exports ?? {
      weigh: (start, count) => this.#weighPlainly(start, count),
      peaks: (...args) => this.#findPeaksPlainly(...args),
      makeSane: (start, count) => sanitize(this.left.subarray(start), this.right.subarray(start), count),
      scale: (start, count, within) => this.#scalePlainly(start, count, within),
    };
  }

  /** Weighs `count` samples from index `start` on; returns the sum of their squares, both sides together. */
  weigh(start: number, count: number): number {
    return count === 0 ? 0 : this.#exports.weigh(start, count);
  }

  /**
   * For each of `count` chunks from index `start` on, into `peaks`: the highest absolute value, between samples too.
   * Chunks certainly not above `limit` are examined less closely.
   */
  findPeaks(start: number, count: number, limit: number): void {
    if (count > 0) this.#exports.peaks(start, count, limit / ABOVE_SAMPLES_MAX, limit / ABOVE_HALVES_MAX);
  }

  /** Silences invalid samples (see sane-samples.ts) from index `start` on. */
  sanitize(start: number, count: number): void {
    if (count > 0) this.#exports.makeSane(start, count);
  }

  /**
   * Multiplies `count` samples from index `start` on by `gains`, to the output. The first chunk began `within` before.
   */
  scale(start: number, count: number, within: number): void {
    if (count > 0) this.#exports.scale(start, count, within);
  }

  #weighPlainly(start: number, count: number): number {
    let sum = 0;
    for (const [side, audio] of [this.left, this.right].entries()) {
      let [w1, w2] = [this.state[side]!, this.state[2 + side]!];
      let [v1, v2] = [this.state[4 + side]!, this.state[6 + side]!];
      for (let at = start; at < start + count; at++) {
        const w = audio[at]! - SHELF_A2 * w2 - SHELF_A1 * w1;
        const shelved = SHELF_B0 * w + SHELF_B1 * w1 + SHELF_B2 * w2;
        w2 = w1;
        w1 = w;
        const v = shelved - HIGH_PASS_A2 * v2 - HIGH_PASS_A1 * v1;
        const weighted = v - 2 * v1 + v2;
        v2 = v1;
        v1 = v;
        sum += weighted * weighted;
      }
      this.state[side] = w1;
      this.state[2 + side] = w2;
      this.state[4 + side] = v1;
      this.state[6 + side] = v2;
    }
    return sum;
  }

  #findPeaksPlainly(...[start, count, quiet, close]: Parameters<LoudnessExports["peaks"]>): void {
    for (let chunk = 0; chunk < count; chunk++) {
      const from = start + chunk * CHUNK_SAMPLES;
      const fromTo = { from: from - REACH_BEFORE_SAMPLES, to: from + CHUNK_SAMPLES + REACH_BEHIND_SAMPLES };
      let highest = Math.max(highestIn(this.left, fromTo), highestIn(this.right, fromTo));
      for (let row = 0; row < TAPS_PER_PAIR && highest > (row === 0 ? quiet : close); row += row === 0 ? 1 : 2) {
        if (row === 0) highest = 0;
        highest = Math.max(highest, this.#peakIn(this.left, from, row), this.#peakIn(this.right, from, row));
      }
      this.peaks[chunk] = highest;
    }
  }

  #scalePlainly(start: number, count: number, within: number): void {
    for (let sample = 0; sample < count; sample++) {
      const position = within + sample;
      const chunk = Math.floor(position / CHUNK_SAMPLES);
      const factor = this.gains[2 * chunk]! + (position % CHUNK_SAMPLES) * this.gains[2 * chunk + 1]!;
      this.leftOut[sample] = this.left[start + sample]! * factor;
      this.rightOut[sample] = this.right[start + sample]! * factor;
    }
  }

  /**
   * The highest value at the samples of a chunk, the one behind it, and the positions of one row of taps in between.
   */
  #peakIn(audio: Float32Array, from: number, row: number): number {
    const taps = this.#taps;
    let highest = Math.abs(audio[from + CHUNK_SAMPLES]!);
    for (let at = from; at < from + CHUNK_SAMPLES; at++) {
      let even = 0;
      let odd = 0;
      for (let pair = 0; pair < TAP_PAIRS; pair++) {
        const tap = (pair * TAPS_PER_PAIR + row) * 4;
        const before = audio[at - pair]!;
        const behind = audio[at + 1 + pair]!;
        even += taps[tap]! * (before + behind);
        if (row > 0) odd += taps[tap + 4]! * (before - behind);
      }
      // Of the two positions, early and late, one is even plus odd and the other even minus odd.
      highest = Math.max(highest, Math.abs(audio[at]!), Math.abs(even) + Math.abs(odd));
    }
    return highest;
  }
}

function highestIn(audio: Float32Array, { from, to }: { readonly from: number; readonly to: number }): number {
  let highest = 0;
  for (let at = from; at < to; at++) highest = Math.max(highest, Math.abs(audio[at]!));
  return highest;
}

/**
 * A windowed sinc at each position between a sample and the next, as factors for the six pairs of samples around the
 * middle: even ones for their sums, odd ones for their differences, so that each early position also serves the late
 * one opposite. Each tap is stored four times, as a vector.
 */
function interpolationTaps(): number[] {
  const half = rowAt(HALF_WAY);
  const early = EARLY_POSITIONS.map(rowAt);
  const taps = Array.from({ length: TAP_PAIRS }, (_, pair) => {
    const [before, behind] = [TAP_PAIRS - 1 - pair, TAP_PAIRS + pair];
    const parts = early.map((row) => [(row[before]! + row[behind]!) / 2, (row[before]! - row[behind]!) / 2]);
    return [half[before]!, ...parts.flat()];
  });
  return taps.flat().flatMap((tap) => [tap, tap, tap, tap]);
}

function rowAt(fraction: number): number[] {
  const row = Array.from({ length: 2 * TAP_PAIRS }, (_, tap) => {
    const distance = tap - (TAP_PAIRS - 1) - fraction;
    const window = bessel(WINDOW_SHAPE * Math.sqrt(1 - (distance / TAP_PAIRS) ** 2)) / bessel(WINDOW_SHAPE);
    return (window * Math.sin(Math.PI * distance)) / (Math.PI * distance);
  });
  const sum = row.reduce((total, tap) => total + tap, 0);
  return row.map((tap) => tap / sum);
}

/** The modified Bessel function of order 0. */
function bessel(value: number): number {
  let sum = 1;
  let term = 1;
  for (let step = 1; step < 24; step++) {
    term *= (value / (2 * step)) ** 2;
    sum += term;
  }
  return sum;
}

let shared: LoudnessKernel | undefined;

/** The thread's kernel, created when it is first needed. Between calls it retains only the taps. */
export function sharedLoudnessKernel(): LoudnessKernel {
  shared ??= new LoudnessKernel();
  return shared;
}
