// Base of all filters whose loop is WebAssembly: audio is copied into the loop's memory, processed there, and copied
// back. Audio thread; allocates only for calls with more than a frame.

import { KERNEL_SAMPLES } from "../../kernels/numbers/block.ts";
import type { AudioFilter } from "./audio-filter.ts";

/** Offsets in a loop's memory, each of `KERNEL_SAMPLES`. */
interface KernelAudio {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

export abstract class KernelFilter implements AudioFilter {
  readonly #input: KernelAudio;
  readonly #output: KernelAudio;

  /** `output`: where the loop leaves its result, when it does not work in place. */
  constructor(input: KernelAudio, output: KernelAudio = input) {
    this.#input = input;
    this.#output = output;
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    if (left.length <= KERNEL_SAMPLES) {
      this.#processBlock(left, right, lengthSamples);
      return;
    }
    for (let start = 0; start < lengthSamples; start += KERNEL_SAMPLES) {
      const end = Math.min(start + KERNEL_SAMPLES, lengthSamples);
      this.#processBlock(left.subarray(start, end), right.subarray(start, end), end - start);
    }
  }

  /** Works on the first `count` samples in the loop's memory, a block at most. */
  protected abstract run(count: number): void;

  abstract reset(): void;

  #processBlock(left: Float32Array, right: Float32Array, count: number): void {
    // Copying whole arrays is fast; samples behind `count` are never read.
    this.#input.left.set(left);
    this.#input.right.set(right);
    this.run(count);
    const { left: leftOut, right: rightOut } = this.#output;
    if (left.length === KERNEL_SAMPLES && count === KERNEL_SAMPLES) {
      left.set(leftOut);
      right.set(rightOut);
      return;
    }
    for (let sample = 0; sample < count; sample++) {
      left[sample] = leftOut[sample]!;
      right[sample] = rightOut[sample]!;
    }
  }
}
