// The equalizer's inner loops and their memory, one for all equalizers of the thread, which load their states one after
// the other. WebAssembly where the processor has SIMD, else the same in plain JavaScript, five times slower. Audio
// thread.

import { F64_BYTES, KERNEL_SAMPLES } from "./numbers/block.ts";
import { BAND_BYTES, BAND_W1, EQUALIZER_LEFT, EQUALIZER_RIGHT, GROUP_BANDS, HISTORY_X1 } from "./numbers/equalizer.ts";
import { WasmKernel } from "./wasm-loop.ts";

/** Numbers per band: g, b, k, w1 and w2, each for left and right. */
export const BAND_NUMBERS = BAND_BYTES / F64_BYTES;
/** Where in a band's numbers the state begins. */
export const BAND_STATE_OFFSET = BAND_W1 / F64_BYTES;
/** Behind all bands: the last two input samples, x1 and x2, each left and right. */
export const HISTORY_OFFSET = HISTORY_X1 / F64_BYTES;
/** All that an equalizer's call depends on. */
export const STATE_NUMBERS = HISTORY_OFFSET + 4;

type Equalize = (count: number, groups: number) => void;

const WASM = new WasmKernel<{ equalize: Equalize }>("equalizer");

/** Audio goes in and out through `left` and `right`. */
export class EqualizerKernel {
  /** The first `STATE_NUMBERS` are the equalizer's at work; set before a run, read back after it. */
  readonly state: Float64Array;
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly #equalize: Equalize;

  /** `isSimd` false forces the plain loop (for tests). */
  constructor({ isSimd = true }: { readonly isSimd?: boolean } = {}) {
    const { memory, exports } = WASM.createLoop({ isSimd });
    this.state = new Float64Array(memory, 0, STATE_NUMBERS);
    this.left = new Float32Array(memory, EQUALIZER_LEFT, KERNEL_SAMPLES);
    this.right = new Float32Array(memory, EQUALIZER_RIGHT, KERNEL_SAMPLES);
    this.#equalize = exports?.equalize ?? ((count, groups) => this.#equalizePlainly(count, groups));
  }

  /** Processes the first `count` samples of `left` and `right` in place with the first `groupCount` groups of bands. */
  run(count: number, groupCount: number): void {
    this.#equalize(count, groupCount);
  }

  #equalizePlainly(count: number, groupCount: number): void {
    const { state } = this;
    for (const [side, audio] of [this.left, this.right].entries()) {
      const history = HISTORY_OFFSET + side;
      for (let sample = 0; sample < count; sample++) {
        const x = audio[sample]!;
        const difference = x - state[history + 2]!;
        state[history + 2] = state[history]!;
        state[history] = x;
        let sum = x;
        for (let band = side; band < groupCount * GROUP_BANDS * BAND_NUMBERS; band += BAND_NUMBERS) {
          const w = difference + state[band]! * state[band + 6]! - state[band + 2]! * state[band + 8]!;
          state[band + 8] = state[band + 6]!;
          state[band + 6] = w;
          sum += state[band + 4]! * w;
        }
        audio[sample] = Math.min(Math.max(sum, -1), 1);
      }
    }
  }
}

let shared: EqualizerKernel | undefined;

/** The thread's kernel, created when it is first needed. Stateless between calls. */
export function sharedEqualizerKernel(): EqualizerKernel {
  shared ??= new EqualizerKernel();
  return shared;
}
