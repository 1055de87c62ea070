// The state of a reverb and the loop that works on it: diffusers, delay lines, their low-passes and the matrix that
// joins them. Each reverb has its own, as its lines are too long to be copied for each frame. WebAssembly where the
// processor has SIMD, else the same in plain JavaScript, some five times slower. Audio thread.

import { F32_BYTES, GROUP_SAMPLES, KERNEL_SAMPLES, SILENCE_BIAS } from "./numbers/block.ts";
import * as room from "./numbers/reverb.ts";
import { WasmKernel, type WasmLoop } from "./wasm-loop.ts";

/** Lengths of the delay lines. */
export const LINE_SAMPLES: readonly number[] = [
  room.LINE_0_SAMPLES,
  room.LINE_1_SAMPLES,
  room.LINE_2_SAMPLES,
  room.LINE_3_SAMPLES,
  room.LINE_4_SAMPLES,
  room.LINE_5_SAMPLES,
  room.LINE_6_SAMPLES,
  room.LINE_7_SAMPLES,
];
const DIFFUSER_SAMPLES: readonly number[] = [
  room.DIFFUSER_0_SAMPLES,
  room.DIFFUSER_1_SAMPLES,
  room.DIFFUSER_2_SAMPLES,
  room.DIFFUSER_3_SAMPLES,
];
const { DIFFUSER_SIZE, DIFFUSION, REVERB_LINE_SIZE } = room;
const LINE_STRIDE = room.LINE_STRIDE_BYTES / F32_BYTES;
const DIFFUSER_STRIDE = room.DIFFUSER_STRIDE_BYTES / F32_BYTES;

/** The acoustics of the room: all of them factors. */
export interface ReverbTuning {
  /**
   * Per line: the share of a new sample in its low-pass (the line's gain included) and the share of the last output.
   */
  readonly shares: readonly number[];
  readonly keep: number;
  /** Gain of the input into the lines. */
  readonly input: number;
  /** Gains of the output: the dry audio, a side's own room, the other side's. */
  readonly dry: number;
  readonly wet: number;
  readonly cross: number;
}

/** From and to which sample, the lines' next sample (a multiple of four), then the tuning. */
type Reverberate = (...numbers: [number, number, number, number, number, number, number]) => void;

const WASM = new WasmKernel<{ reverberate: Reverberate }>("reverb");

/** One acoustic room with its state. Audio goes in and out through `left` and `right`. */
export class ReverbKernel {
  /** Input and output. */
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly #memory: ArrayBuffer;
  readonly #lines: Float32Array;
  readonly #diffusers: Float32Array;
  readonly #shares: Float32Array;
  readonly #lowPassed: Float32Array;
  readonly #reverberate: Reverberate | undefined;
  readonly #loop: WasmLoop<{ reverberate: Reverberate }>;
  readonly #now = new Float64Array(8);
  /** Position of the lines' next sample. */
  #at = 0;

  /** Remembers what `previous` does. `isSimd` false forces the plain loop (for tests). */
  constructor({ previous, isSimd = true }: { readonly previous: ReverbKernel | undefined; readonly isSimd?: boolean }) {
    this.#loop = WASM.createLoop({ isSimd, sizeBytes: room.REVERB_BYTES });
    const { memory, exports } = this.#loop;
    this.#memory = memory;
    this.#reverberate = exports?.reverberate;
    this.#lines = new Float32Array(memory, 0, 8 * LINE_STRIDE);
    this.#diffusers = new Float32Array(memory, room.DIFFUSERS, 4 * DIFFUSER_STRIDE);
    this.left = new Float32Array(memory, room.REVERB_LEFT, KERNEL_SAMPLES);
    this.right = new Float32Array(memory, room.REVERB_RIGHT, KERNEL_SAMPLES);
    this.#shares = new Float32Array(memory, room.REVERB_SHARES, 8);
    this.#lowPassed = new Float32Array(memory, room.REVERB_LOW_PASSED, 8);
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
  run(start: number, end: number, tuning: ReverbTuning): void {
    const { shares, keep, input, dry, wet, cross } = tuning;
    for (let line = 0; line < 8; line++) this.#shares[line] = shares[line]!;
    let sample = start;
    if (this.#reverberate !== undefined && input === 1) {
      while (sample < end && this.#at % GROUP_SAMPLES !== 0) this.#step(sample++, tuning);
      const count = end - sample - ((end - sample) % GROUP_SAMPLES);
      this.#reverberate(sample, sample + count, this.#at, keep, dry, wet, cross);
      this.#at = (this.#at + count) % REVERB_LINE_SIZE;
      sample += count;
    }
    while (sample < end) this.#step(sample++, tuning);
  }

  /** One sample, as the WebAssembly does four. */
  #step(sample: number, { keep, input, dry, wet, cross }: ReverbTuning): void {
    const [shares, lowPassed, now] = [this.#shares, this.#lowPassed, this.#now];
    const left = this.left[sample]!;
    const right = this.right[sample]!;
    const fromLeft = this.#diffuse(1, this.#diffuse(0, left * input + SILENCE_BIAS));
    const fromRight = this.#diffuse(3, this.#diffuse(2, right * input + SILENCE_BIAS));
    for (let line = 0; line < 8; line++) {
      const past = this.#lines[line * LINE_STRIDE + ((this.#at - LINE_SAMPLES[line]!) & (REVERB_LINE_SIZE - 1))]!;
      lowPassed[line] = past * shares[line]! + lowPassed[line]! * keep;
      now[line] = lowPassed[line]!;
    }
    const roomLeft = now[0]! + now[4]! - (now[2]! + now[6]!);
    const roomRight = now[1]! + now[5]! - (now[3]! + now[7]!);
    this.left[sample] = dry * left + wet * roomLeft + cross * roomRight;
    this.right[sample] = dry * right + wet * roomRight + cross * roomLeft;
    mix(now);
    for (let line = 0; line < 8; line++) {
      const from = line % 2 === 0 ? fromLeft : fromRight;
      const isTurned = line % 4 >= 2;
      write(this.#lines, line * LINE_STRIDE, REVERB_LINE_SIZE, this.#at, now[line]! + (isTurned ? -from : from));
    }
    this.#at = (this.#at + 1) % REVERB_LINE_SIZE;
  }

  #diffuse(diffuser: number, value: number): number {
    const start = diffuser * DIFFUSER_STRIDE;
    const past = this.#diffusers[start + ((this.#at - DIFFUSER_SAMPLES[diffuser]!) & (DIFFUSER_SIZE - 1))]!;
    const retained = Math.fround(value - DIFFUSION * past);
    write(this.#diffusers, start, DIFFUSER_SIZE, this.#at & (DIFFUSER_SIZE - 1), retained);
    return past + DIFFUSION * retained;
  }
}

/** Sums and differences of neighbours, of pairs, of halves: a Hadamard matrix, the energy times eight. */
function mix(values: Float64Array): void {
  for (let distance = 1; distance < 8; distance *= 2) {
    for (let index = 0; index < 8; index++) {
      if ((index & distance) !== 0) continue;
      const [one, other] = [values[index]!, values[index + distance]!];
      values[index] = one + other;
      values[index + distance] = one - other;
    }
  }
}

function write(ring: Float32Array, ...[start, size, index, value]: [number, number, number, number]): void {
  ring[start + index] = value;
  if (index < GROUP_SAMPLES) ring[start + size + index] = value;
}
