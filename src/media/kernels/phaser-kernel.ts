// The phaser's inner loop and the memory it works in, one for all phasers of the thread. WebAssembly where the
// processor has SIMD, else the same in plain JavaScript, about twice as slow. Audio thread.

import { KERNEL_SAMPLES } from "./numbers/block.ts";
import { PHASER_LEFT, PHASER_RIGHT, PHASER_STATE, PHASER_STATE_NUMBERS } from "./numbers/phaser.ts";
import { WasmKernel } from "./wasm-loop.ts";

/** The stages' coefficients and the feedback gain: at the first sample, and their steps with each. */
export interface Phasing {
  left: number;
  right: number;
  feedback: number;
  leftStep: number;
  rightStep: number;
  feedbackStep: number;
  /** Share of the phase-shifted audio in the output. */
  readonly mix: number;
}

type Phase = (start: number, end: number, ...numbers: [number, number, number, number, number, number, number]) => void;

const WASM = new WasmKernel<{ phase: Phase }>("phaser");

/** Audio goes in and out through `left` and `right`; `state` is set before a run and read back after it. */
export class PhaserKernel {
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly state: Float64Array;
  readonly #phase: Phase | undefined;

  /** `isSimd` false forces the plain loop (for tests). */
  constructor({ isSimd = true }: { readonly isSimd?: boolean } = {}) {
    const { memory, exports } = WASM.createLoop({ isSimd });
    this.left = new Float32Array(memory, PHASER_LEFT, KERNEL_SAMPLES);
    this.right = new Float32Array(memory, PHASER_RIGHT, KERNEL_SAMPLES);
    this.state = new Float64Array(memory, PHASER_STATE, PHASER_STATE_NUMBERS);
    this.#phase = exports?.phase;
  }

  /** Processes `left` and `right` from `start` to `end` in place, and updates `state`. */
  run(start: number, end: number, phasing: Readonly<Phasing>): void {
    if (this.#phase === undefined) {
      this.#runPlainly(start, end, phasing);
      return;
    }
    const { left, right, leftStep, rightStep, feedback, feedbackStep, mix } = phasing;
    this.#phase(start, end, left, right, leftStep, rightStep, feedback, feedbackStep, mix);
  }

  #runPlainly(start: number, end: number, phasing: Readonly<Phasing>): void {
    let { left, right, feedback } = phasing;
    for (let sample = start; sample < end; sample++) {
      this.left[sample] = this.#turn(this.left[sample]!, 0, { a: left, feedback, mix: phasing.mix });
      this.right[sample] = this.#turn(this.right[sample]!, 1, { a: right, feedback, mix: phasing.mix });
      left += phasing.leftStep;
      right += phasing.rightStep;
      feedback += phasing.feedbackStep;
    }
  }

  #turn(x: number, side: number, { a, feedback, mix }: { a: number; feedback: number; mix: number }): number {
    const state = this.state;
    let value = x + feedback * state[10 + side]!;
    for (let env = side; env < 8; env += 2) {
      const next = a * value + state[env]!;
      state[env] = value - a * next;
      value = next;
    }
    state[10 + side] = state[8 + side]!;
    state[8 + side] = value;
    return x + mix * (value - x);
  }
}

let shared: PhaserKernel | undefined;

/** The thread's kernel, created when it is first needed. Stateless between calls. */
export function sharedPhaserKernel(): PhaserKernel {
  shared ??= new PhaserKernel();
  return shared;
}
