// The inner loop of the search for similar positions and its memory, one for all players of the thread. WebAssembly
// where the processor has SIMD, else the same in plain JavaScript, several times slower. Audio thread; stateless
// between calls.

import {
  COMPARED_SAMPLES_MAX,
  HERE_LEFT,
  HERE_RIGHT,
  POSITIONS_MAX,
  PRODUCTS,
  THERE_LEFT,
  THERE_RIGHT,
  THERE_SAMPLES,
} from "./numbers/timescale-search.ts";
import { WasmKernel } from "./wasm-loop.ts";

/** Two channels of one length. */
export interface Stereo {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

interface Comparison {
  /** Index of the stretch that is compared, and of the first position it is compared with. */
  readonly here: number;
  readonly there: number;
  /** Length of the stretch: a multiple of 4, up to 768. */
  readonly length: number;
  /** Positions, each one sample after the one before: up to 160, and `length + count` up to 796. */
  readonly count: number;
}

type Compare = (length: number, count: number) => void;

const WASM = new WasmKernel<{ compare: Compare }>("timescale-search");

/** Compares a stretch of audio with others. Stateless between calls. */
export class TimescaleSearchKernel {
  /** Similarity of the stretch to each position: the sum of the products of their samples. */
  readonly products: Float32Array;
  readonly #hereLeft: Float32Array;
  readonly #hereRight: Float32Array;
  readonly #thereLeft: Float32Array;
  readonly #thereRight: Float32Array;
  readonly #run: Compare;

  /** `isSimd` false forces the plain loop (for tests). */
  constructor({ isSimd = true }: { readonly isSimd?: boolean } = {}) {
    const { memory, exports } = WASM.createLoop({ isSimd });
    this.products = new Float32Array(memory, PRODUCTS, POSITIONS_MAX);
    this.#hereLeft = new Float32Array(memory, HERE_LEFT, COMPARED_SAMPLES_MAX);
    this.#hereRight = new Float32Array(memory, HERE_RIGHT, COMPARED_SAMPLES_MAX);
    this.#thereLeft = new Float32Array(memory, THERE_LEFT, THERE_SAMPLES);
    this.#thereRight = new Float32Array(memory, THERE_RIGHT, THERE_SAMPLES);
    this.#run = exports?.compare ?? ((length, count) => this.#comparePlainly(length, count));
  }

  /** Fills the first `count` of `products`. */
  compare({ left, right }: Stereo, { here, there, length, count }: Comparison): void {
    const thereEnd = there + length + count - 1;
    this.#hereLeft.set(left.subarray(here, here + length));
    this.#hereRight.set(right.subarray(here, here + length));
    this.#thereLeft.set(left.subarray(there, thereEnd));
    this.#thereRight.set(right.subarray(there, thereEnd));
    this.#run(length, count);
  }

  #comparePlainly(length: number, count: number): void {
    for (let index = 0; index < count; index++) {
      let product = 0;
      for (let sample = 0; sample < length; sample++) {
        product += this.#hereLeft[sample]! * this.#thereLeft[index + sample]!;
        product += this.#hereRight[sample]! * this.#thereRight[index + sample]!;
      }
      this.products[index] = product;
    }
  }
}

let shared: TimescaleSearchKernel | undefined;

/** The thread's kernel, created when it is first needed. */
export function sharedSearchKernel(): TimescaleSearchKernel {
  shared ??= new TimescaleSearchKernel();
  return shared;
}
