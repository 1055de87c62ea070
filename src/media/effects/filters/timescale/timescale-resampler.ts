// Plays audio faster or slower, including pitch, by any factor: band-limited, without delay, gliding to a new factor
// within 20 ms. The part of timescale that moves pitch, behind the stretcher. Audio thread; no allocation except for a
// new factor's filter.

import { SAMPLES_PER_MS } from "../../../format/audio-format.ts";
import {
  INPUT_SAMPLES,
  PHASE_COUNT,
  SCRATCH_SAMPLES,
  TAP_COUNT_MAX,
  type TimescaleKernel,
  timescaleKernel,
} from "./timescale-kernel.ts";

/** Samples retained behind the next sample to play, for the left half of the longest filter. */
export const HISTORY_SAMPLES = TAP_COUNT_MAX / 2;
/** A change of factor takes this many steps of this many samples: 20 ms. */
const GLIDE_STEPS = 20;
const GLIDE_STEP_SAMPLES = SAMPLES_PER_MS;

/** Source of the audio; `read` returns fewer samples than requested when there are no more for now. */
interface SampleSource {
  read(to: { left: Float32Array; right: Float32Array }, offset: number, count: number): number;
}

/** Destination of the output: a StereoFifo. */
interface SampleSink {
  append(left: Float32Array, right: Float32Array, offset: number, lengthSamples: number): void;
}

export class TimescaleResampler {
  /** Input: samples played recently, then the next ones. Sample HISTORY_SAMPLES is played next, `#phase` behind it. */
  readonly #input = { left: new Float32Array(INPUT_SAMPLES), right: new Float32Array(INPUT_SAMPLES) };
  #inputLength = HISTORY_SAMPLES;
  #phase = 0;
  #step = PHASE_COUNT;
  #targetStep = PHASE_COUNT;
  #glideStep = 0;
  #kernel: TimescaleKernel = timescaleKernel(1);
  /** Silence behind the end of the input, already in the buffer. */
  #paddingSamples = 0;

  /** Input samples taken that have not been played, with a fraction. */
  get heldSamples(): number {
    return this.#inputLength - this.#paddingSamples - HISTORY_SAMPLES - this.#phase / PHASE_COUNT;
  }

  /** Plays `factor` (up to FACTOR_MAX) input samples per output sample, after a glide. */
  setFactor(factor: number): void {
    this.#targetStep = Math.round(factor * PHASE_COUNT);
    this.#glideStep = Math.ceil(Math.abs(this.#targetStep - this.#step) / GLIDE_STEPS);
    // During a glide the narrower of both bands applies, so that nothing aliases.
    this.#kernel = timescaleKernel(Math.max(this.#targetStep, this.#step) / PHASE_COUNT);
  }

  /**
   * Starts again, at the current factor, with `history` (HISTORY_SAMPLES, oldest first) right before the first input
   * sample.
   */
  start(history: { left: Float32Array; right: Float32Array }): void {
    this.#input.left.set(history.left);
    this.#input.right.set(history.right);
    this.#inputLength = HISTORY_SAMPLES;
    this.#paddingSamples = 0;
    this.#phase = 0;
    this.#step = this.#targetStep;
    this.#kernel = timescaleKernel(this.#step / PHASE_COUNT);
  }

  /** Puts up to `count` samples into `sink`; returns how many. Fewer when the source has no more; `isEnd`: ever. */
  make(sink: SampleSink, count: number, { source, isEnd }: { source: SampleSource; isEnd: boolean }): number {
    let done = 0;
    while (done < count) {
      const made = this.#makeBlock(sink, count - done, source, isEnd);
      if (made === 0) break;
      done += made;
    }
    return done;
  }

  #makeBlock(sink: SampleSink, countRequested: number, source: SampleSource, isEnd: boolean): number {
    this.#glide();
    const kernel = this.#kernel;
    const isGliding = this.#step !== this.#targetStep;
    const capacity = Math.floor(((SCRATCH_SAMPLES - 1) * PHASE_COUNT - this.#phase) / this.#step);
    const countMax = Math.min(
      countRequested,
      capacity,
      SCRATCH_SAMPLES,
      isGliding ? GLIDE_STEP_SAMPLES : SCRATCH_SAMPLES,
    );
    const reach = Math.floor((this.#phase + (countMax - 1) * this.#step) / PHASE_COUNT);
    this.#take(HISTORY_SAMPLES + reach + kernel.tapCount / 2 + 1, source, isEnd);
    const inputs = this.#inputLength - HISTORY_SAMPLES - kernel.tapCount / 2;
    if (inputs <= 0) return 0;
    const possible = Math.floor((inputs * PHASE_COUNT - 1 - this.#phase) / this.#step) + 1;
    const count = Math.min(countMax, possible);
    if (count <= 0) return 0;
    if (this.#step === PHASE_COUNT && this.#phase === 0) {
      sink.append(this.#input.left, this.#input.right, HISTORY_SAMPLES, count);
    } else {
      const from = HISTORY_SAMPLES - kernel.tapCount / 2 + 1;
      const { left, right } = kernel.run(this.#input, from, { phase: this.#phase, step: this.#step, count });
      sink.append(left, right, 0, count);
    }
    this.#advance(count);
    return count;
  }

  #glide(): void {
    const missing = this.#targetStep - this.#step;
    if (missing === 0) return;
    this.#step += Math.min(Math.max(missing, -this.#glideStep), this.#glideStep);
    if (this.#step === this.#targetStep) this.#kernel = timescaleKernel(this.#step / PHASE_COUNT);
  }

  /** Gets input until the buffer holds `length`, silence included once when the end is known. */
  #take(length: number, source: SampleSource, isEnd: boolean): void {
    const missing = length - this.#inputLength;
    if (missing <= 0) return;
    if (this.#paddingSamples === 0) this.#inputLength += source.read(this.#input, this.#inputLength, missing);
    if (!isEnd || this.#inputLength >= length || this.#paddingSamples > 0) return;
    this.#paddingSamples = this.#kernel.tapCount / 2;
    this.#input.left.fill(0, this.#inputLength, this.#inputLength + this.#paddingSamples);
    this.#input.right.fill(0, this.#inputLength, this.#inputLength + this.#paddingSamples);
    this.#inputLength += this.#paddingSamples;
  }

  #advance(count: number): void {
    const moved = this.#phase + count * this.#step;
    // Never more than there are: the right half of a filter is longer than its factor.
    const samples = Math.floor(moved / PHASE_COUNT);
    this.#phase = moved - samples * PHASE_COUNT;
    this.#input.left.copyWithin(0, samples, this.#inputLength);
    this.#input.right.copyWithin(0, samples, this.#inputLength);
    this.#inputLength -= samples;
  }
}
