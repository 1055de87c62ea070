// The state of a chorus or flanger, a delay line per side, and the loop that works on it. Each filter has its own.
// WebAssembly where the processor has SIMD, else the same in plain JavaScript, twice as slow. Audio thread.

import { GROUP_SAMPLES, KERNEL_SAMPLES, SILENCE_BIAS } from "./numbers/block.ts";
import {
  DELAY_LEFT,
  DELAY_LEFT_LINE,
  DELAY_LINE_SIZE,
  DELAY_POINTER,
  DELAY_RIGHT,
  DELAY_RIGHT_LINE,
} from "./numbers/modulated-delay.ts";
import { WasmKernel, type WasmLoop } from "./wasm-loop.ts";

const LINE_MASK = DELAY_LINE_SIZE - 1;

/** Sine and cosine of the swing, and those of the angle by which it turns with each sample. */
interface Pointer {
  sine: number;
  cosine: number;
  readonly stepSine: number;
  readonly stepCosine: number;
}

/** What drives the loop: the delay in samples (its centre and how far it swings from it), and gains. */
export interface Drive {
  centre: number;
  swing: number;
  /** Gains of the delayed audio and of the input, both fed into the line. */
  feedback: number;
  input: number;
}

/** A drive's steps per sample when it stands still. */
export const STILL: Readonly<Drive> = { centre: 0, swing: 0, feedback: 0, input: 0 };

/** Parameters of one run of the loop. */
export interface Swinging {
  /** State at the first sample; after the run, the state behind the last one. */
  readonly oscillator: Pointer;
  /** Advanced by `step` with each sample, except with `STILL`. Its input is 1 when it stands still. */
  readonly drive: Drive;
  readonly step: Readonly<Drive>;
  /** Share of the delayed audio in the output. */
  readonly mix: number;
}

type Swing = (
  start: number,
  end: number,
  at: number,
  ...numbers: [number, number, number, number, number, number, number, number]
) => void;

const WASM = new WasmKernel<{ swing: Swing }>("modulated-delay");

/** The delay lines of one filter. Audio goes in and out through `left` and `right`. */
export class ModulatedDelayKernel {
  /** Input and output. */
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly #memory: ArrayBuffer;
  readonly #leftLine: Float32Array;
  readonly #rightLine: Float32Array;
  /** Sine and cosine behind what the WebAssembly has done. */
  readonly #pointer: Float64Array;
  readonly #swing: Swing | undefined;
  readonly #loop: WasmLoop<{ swing: Swing }>;
  /** Position of the lines' next sample. */
  #at = 0;

  /** Remembers what `previous` does. `isSimd` false forces the plain loop (for tests). */
  constructor({
    previous,
    isSimd = true,
  }: { readonly previous: ModulatedDelayKernel | undefined; readonly isSimd?: boolean }) {
    this.#loop = WASM.createLoop({ isSimd });
    const { memory, exports } = this.#loop;
    this.#memory = memory;
    this.#swing = exports?.swing;
    this.#leftLine = new Float32Array(memory, DELAY_LEFT_LINE, DELAY_LINE_SIZE + GROUP_SAMPLES);
    this.#rightLine = new Float32Array(memory, DELAY_RIGHT_LINE, DELAY_LINE_SIZE + GROUP_SAMPLES);
    this.left = new Float32Array(memory, DELAY_LEFT, KERNEL_SAMPLES);
    this.right = new Float32Array(memory, DELAY_RIGHT, KERNEL_SAMPLES);
    this.#pointer = new Float64Array(memory, DELAY_POINTER, 2);
    if (previous === undefined) return;
    new Uint8Array(memory).set(new Uint8Array(previous.#memory));
    this.#at = previous.#at;
  }

  clear(): void {
    new Uint8Array(this.#memory).fill(0);
  }

  /** Another one gets its memory. It must not be used any more. */
  release(): void {
    WASM.releaseLoop(this.#loop);
  }

  /** Processes `left` and `right` from `start` to `end` in place. */
  run(start: number, end: number, swinging: Swinging): void {
    const isFast = this.#swing !== undefined && swinging.step === STILL;
    const isOdd = this.#at % 2 === 1;
    const fastFrom = isFast && isOdd ? start + 1 : start;
    const fastTo = isFast && end > fastFrom ? end - ((end - fastFrom) % 2) : fastFrom;
    this.#runPlainly(start, fastFrom, swinging);
    if (fastTo > fastFrom) this.#runFast(fastFrom, fastTo, swinging);
    this.#runPlainly(fastTo, end, swinging);
  }

  #runFast(start: number, end: number, { oscillator, drive, mix }: Swinging): void {
    const { sine, cosine, stepSine, stepCosine } = oscillator;
    const { centre, swing, feedback } = drive;
    this.#swing?.(start, end, this.#at, sine, cosine, stepSine, stepCosine, centre, swing, feedback, mix);
    this.#at = (this.#at + end - start) & LINE_MASK;
    oscillator.sine = this.#pointer[0]!;
    oscillator.cosine = this.#pointer[1]!;
  }

  #runPlainly(start: number, end: number, { oscillator, drive, step, mix }: Swinging): void {
    const { stepSine, stepCosine } = oscillator;
    let { sine, cosine } = oscillator;
    let { centre, swing, feedback, input } = drive;
    for (let sample = start; sample < end; sample++) {
      const left = this.left[sample]!;
      const right = this.right[sample]!;
      const whereLeft = this.#at + DELAY_LINE_SIZE - 1 - centre - swing * sine;
      const whereRight = this.#at + DELAY_LINE_SIZE - 1 - centre - swing * cosine;
      const delayedLeft = valueAfter(this.#leftLine, whereLeft);
      const delayedRight = valueAfter(this.#rightLine, whereRight);
      this.#write(
        left * input + SILENCE_BIAS + delayedLeft * feedback,
        right * input + SILENCE_BIAS + delayedRight * feedback,
      );
      this.left[sample] = left + mix * (delayedLeft - left);
      this.right[sample] = right + mix * (delayedRight - right);
      const next = sine * stepCosine + cosine * stepSine;
      cosine = cosine * stepCosine - sine * stepSine;
      sine = next;
      centre += step.centre;
      swing += step.swing;
      feedback += step.feedback;
      input += step.input;
    }
    oscillator.sine = sine;
    oscillator.cosine = cosine;
    if (step !== STILL) Object.assign(drive, { centre, swing, feedback, input });
  }

  #write(left: number, right: number): void {
    const at = this.#at;
    this.#leftLine[at] = left;
    this.#rightLine[at] = right;
    if (at < GROUP_SAMPLES) {
      this.#leftLine[DELAY_LINE_SIZE + at] = left;
      this.#rightLine[DELAY_LINE_SIZE + at] = right;
    }
    this.#at = (at + 1) & LINE_MASK;
  }
}

/** The value one sample after a position, which is never negative: between the second and the third of four samples. */
function valueAfter(line: Float32Array, where: number): number {
  const whole = where | 0;
  const t = where - whole;
  const at = whole & LINE_MASK;
  const before = line[at]!;
  const here = line[at + 1]!;
  const next = line[at + 2]!;
  const last = line[at + 3]!;
  const bend = 2 * before - 5 * here + 4 * next - last + t * (3 * (here - next) + last - before);
  return here + 0.5 * t * (next - before + t * bend);
}
