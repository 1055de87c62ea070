// The vibrato's inner loop and its memory, one for all vibratos of the thread, which load their delay lines one after
// the other. WebAssembly where the processor has SIMD, else the same in plain JavaScript, several times slower. Audio
// thread.

import { KERNEL_SAMPLES } from "./numbers/block.ts";
import {
  PAST_SAMPLES,
  VIBRATO_LEFT,
  VIBRATO_LEFT_OUT,
  VIBRATO_LINE_SAMPLES,
  VIBRATO_RIGHT,
  VIBRATO_RIGHT_OUT,
} from "./numbers/vibrato.ts";
import { WasmKernel } from "./wasm-loop.ts";

/** Parameters of `run`: the position of output n is `origin` + n - `swing` times the sine of a pointer that turns. */
type Vibrate = (
  count: number,
  origin: number,
  swing: number,
  sine: number,
  cosine: number,
  stepSine: number,
  stepCosine: number,
) => void;

const WASM = new WasmKernel<{ vibrate: Vibrate }>("vibrato");

/** Offsets in the memory, each of KERNEL_SAMPLES. */
interface AudioBlock {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

/** The filter sets the past in `left` and `right` and the block in `input`; `output` holds until the next run. */
export class VibratoKernel {
  /** The past, then the block at work. */
  readonly left: Float32Array;
  readonly right: Float32Array;
  /** The input block, and the output. */
  readonly input: AudioBlock;
  readonly output: AudioBlock;
  readonly run: Vibrate;

  /** `isSimd` false forces the plain loop (for tests). */
  constructor({ isSimd = true }: { readonly isSimd?: boolean } = {}) {
    const { memory, exports } = WASM.createLoop({ isSimd });
    this.left = new Float32Array(memory, VIBRATO_LEFT, VIBRATO_LINE_SAMPLES);
    this.right = new Float32Array(memory, VIBRATO_RIGHT, VIBRATO_LINE_SAMPLES);
    this.input = { left: this.left.subarray(PAST_SAMPLES), right: this.right.subarray(PAST_SAMPLES) };
    this.output = {
      left: new Float32Array(memory, VIBRATO_LEFT_OUT, KERNEL_SAMPLES),
      right: new Float32Array(memory, VIBRATO_RIGHT_OUT, KERNEL_SAMPLES),
    };
    this.run = exports?.vibrate ?? ((...args) => this.#runPlainly(...args));
  }

  #runPlainly(...[count, origin, swing, startSine, startCosine, stepSine, stepCosine]: Parameters<Vibrate>): void {
    const { left, right } = this;
    const { left: leftOut, right: rightOut } = this.output;
    let sine = startSine;
    let cosine = startCosine;
    for (let sample = 0; sample < count; sample++) {
      const position = origin + sample - swing * sine;
      const at = Math.floor(position);
      const t = position - at;
      const t2 = t * t;
      const t3 = t2 * t;
      const w0 = t2 - 0.5 * (t + t3);
      const w1 = 1 - 2.5 * t2 + 1.5 * t3;
      const w2 = 0.5 * t + 2 * t2 - 1.5 * t3;
      const w3 = 0.5 * (t3 - t2);
      leftOut[sample] = w0 * left[at - 1]! + w1 * left[at]! + w2 * left[at + 1]! + w3 * left[at + 2]!;
      rightOut[sample] = w0 * right[at - 1]! + w1 * right[at]! + w2 * right[at + 1]! + w3 * right[at + 2]!;
      const next = sine * stepCosine + cosine * stepSine;
      cosine = cosine * stepCosine - sine * stepSine;
      sine = next;
    }
  }
}

let shared: VibratoKernel | undefined;

/** The thread's kernel, created when it is first needed. Stateless between calls. */
export function sharedVibratoKernel(): VibratoKernel {
  shared ??= new VibratoKernel();
  return shared;
}
