// Any sampling rate to 48 kHz for one stereo stream: band-limited, streaming, exact in length and without delay (the
// first sample out belongs to the first sample in). The filters are in resampler-kernel.ts. Audio thread.

import { NodeError } from "../../errors.ts";
import { SAMPLE_RATE_HZ } from "../format/audio-format.ts";
import { kernelForRate, type ResamplerKernel } from "../kernels/resampler-kernel.ts";

/** The destination of the audio: a StereoFifo. */
interface StereoSink {
  append(left: Float32Array, right: Float32Array, offset: number, lengthSamples: number): void;
}

const RATE_HZ_MIN = 1000;
const RATE_HZ_MAX = 768_000;

/** Throws NodeError `media-unsupported-codec` for anything but a whole number from 1000 to 768000. */
export function requirePlayableRate(rateHz: number): void {
  if (Number.isInteger(rateHz) && rateHz >= RATE_HZ_MIN && rateHz <= RATE_HZ_MAX) return;
  const range = `${RATE_HZ_MIN} to ${RATE_HZ_MAX} Hz`;
  throw new NodeError("media-unsupported-codec", `play audio at ${rateHz} Hz: a rate of ${range} is needed`);
}

/** One stream's state: the last input samples, which the next outputs still need. */
export class Resampler {
  readonly inputRateHz: number;
  readonly #kernel: ResamplerKernel;
  readonly #heldLeft: Float32Array;
  readonly #heldRight: Float32Array;
  readonly #silence: Float32Array;
  #heldCount = 0;
  #phase = 0;
  #inputCount = 0;
  #outputCount = 0;

  /** `inputRateHz`: checked with `requirePlayableRate`. */
  constructor(inputRateHz: number) {
    requirePlayableRate(inputRateHz);
    const kernel = kernelForRate(inputRateHz);
    this.inputRateHz = inputRateHz;
    this.#kernel = kernel;
    // Between calls fewer than tapCount samples are held.
    this.#heldLeft = new Float32Array(kernel.tapCount);
    this.#heldRight = new Float32Array(kernel.tapCount);
    this.#silence = new Float32Array(kernel.tapCount / 2);
    this.reset();
  }

  /** Memory outside the heap: the table (which others may use too) and its work space. */
  get sizeBytes(): number {
    return this.#kernel.sizeBytes;
  }

  /** Takes `lengthSamples` from the start of both arrays (which may be the same) and appends what they complete. */
  push(left: Float32Array, right: Float32Array, lengthSamples: number, sink: StereoSink): void {
    this.#inputCount += lengthSamples;
    this.#feed(left, right, lengthSamples, sink);
  }

  /** Appends the rest: afterwards output / 48000 equals input / rate, rounded up. Then starts over. */
  flush(sink: StereoSink): void {
    if (this.#inputCount > 0) this.#feed(this.#silence, this.#silence, this.#silence.length, sink);
    this.reset();
  }

  /** Clears all state, for a jump in the stream. */
  reset(): void {
    // Before the first sample lies silence: the first output is centred on the first input.
    this.#heldCount = this.#kernel.tapCount / 2 - 1;
    this.#heldLeft.fill(0);
    this.#heldRight.fill(0);
    this.#phase = 0;
    this.#inputCount = 0;
    this.#outputCount = 0;
  }

  #feed(left: Float32Array, right: Float32Array, lengthSamples: number, sink: StereoSink): void {
    const { inputLeft, inputRight, inputSamplesMax } = this.#kernel;
    for (let done = 0; done < lengthSamples; ) {
      const held = this.#heldCount;
      const count = Math.min(lengthSamples - done, inputSamplesMax);
      // Copying whole arrays is fast and creates no view; samples behind the valid ones are never read.
      inputLeft.set(this.#heldLeft);
      inputRight.set(this.#heldRight);
      if (done === 0 && left.length <= inputSamplesMax && right.length <= inputSamplesMax) {
        inputLeft.set(left, held);
        inputRight.set(right, held);
      } else {
        for (let index = 0; index < count; index++) {
          inputLeft[held + index] = left[done + index]!;
          inputRight[held + index] = right[done + index]!;
        }
      }
      done += count;
      this.#convert(held + count, sink);
    }
  }

  /** Produces every output whose taps lie within the `available` input samples and retains the rest of the input. */
  #convert(available: number, sink: StereoSink): void {
    const { phaseCount, phaseStep, tapCount, outputLeft, outputRight, inputLeft, inputRight } = this.#kernel;
    const capacity = available - tapCount + 1;
    const count = capacity <= 0 ? 0 : Math.floor((capacity * phaseCount - 1 - this.#phase) / phaseStep) + 1;
    if (count > 0) {
      this.#kernel.run(this.#phase, count);
      const takeCount = Math.min(count, this.#outputCountMax() - this.#outputCount);
      sink.append(outputLeft, outputRight, 0, takeCount);
      this.#outputCount += takeCount;
    }
    const moved = this.#phase + Math.max(count, 0) * phaseStep;
    const start = Math.floor(moved / phaseCount);
    this.#phase = moved % phaseCount;
    this.#heldCount = available - start;
    for (let index = start; index < available; index++) {
      this.#heldLeft[index - start] = inputLeft[index]!;
      this.#heldRight[index - start] = inputRight[index]!;
    }
  }

  /** The number of outputs whose time lies before the end of the input. */
  #outputCountMax(): number {
    return Math.ceil((this.#inputCount * SAMPLE_RATE_HZ) / this.inputRateHz);
  }
}
