// The sine behind tremolo, vibrato and rotation. The phase is stored in cycles as a 64-bit number and wrapped, so that
// it neither drifts nor stops (upstream's 32-bit phase does both); within a block a rotating pointer saves computing
// the sine of each sample, and its rounding errors end with the block. Audio thread; no allocation.

import { SAMPLE_RATE_HZ } from "../../format/audio-format.ts";

const TURN = 2 * Math.PI;

export class Oscillator {
  /** Sine and cosine of the phase; `advance` moves them by one sample. */
  sine = 0;
  cosine = 1;
  readonly #cyclesPerSample: number;
  readonly #stepSine: number;
  readonly #stepCosine: number;
  #cycles: number;

  /** Starts at the phase of `previous`, or at 0. Any finite frequency is accepted; negative ones turn backwards. */
  constructor(frequencyHz: number, previous?: Oscillator) {
    this.#cyclesPerSample = (frequencyHz / SAMPLE_RATE_HZ) % 1;
    this.#stepSine = Math.sin(TURN * this.#cyclesPerSample);
    this.#stepCosine = Math.cos(TURN * this.#cyclesPerSample);
    this.#cycles = previous === undefined ? 0 : previous.#cycles;
  }

  get stepSine(): number {
    return this.#stepSine;
  }

  get stepCosine(): number {
    return this.#stepCosine;
  }

  /** Sets `sine` and `cosine` to the phase of a block's first sample and moves the phase to the end of the block. */
  startBlock(lengthSamples: number): void {
    this.sine = Math.sin(TURN * this.#cycles);
    this.cosine = Math.cos(TURN * this.#cycles);
    this.#cycles = (this.#cycles + lengthSamples * this.#cyclesPerSample) % 1;
  }

  reset(): void {
    this.#cycles = 0;
  }
}
