// What a reverb remembers and the loop that works on it: diffusers, delay lines, their low-passes and the matrix that
// joins them. Each reverb has one of its own, as its lines are too long to be copied for each frame. WebAssembly where
// the processor has SIMD, else the same in plain JavaScript, some five times slower. Audio thread.

import { createWasmLoop } from "../../lib/wasm-loop.ts";
import { KERNEL_SAMPLES } from "./kernel-filter.ts";
import { REVERB_KERNEL_BASE64 } from "./reverb-kernel-binary.ts";

/** 29 to 58 ms, and primes, so that echoes do not meet. */
export const LINE_SAMPLES: readonly number[] = [1399, 1567, 1747, 1931, 2137, 2341, 2551, 2789];
/** The first two make the left side dense, the others the right one. */
const DIFFUSER_SAMPLES: readonly number[] = [142, 379, 107, 277];
const DIFFUSION = 0.6;

const LINE_SIZE = 4096;
const DIFFUSER_SIZE = 512;
/** The first samples of a ring stand once more behind its end, for the loop that takes four at a time. */
const GROUP_SAMPLES = 4;
const LINE_STRIDE = LINE_SIZE + GROUP_SAMPLES;
const DIFFUSER_STRIDE = DIFFUSER_SIZE + GROUP_SAMPLES;
/** Byte positions, as reverb-kernel.wat knows them. */
const DIFFUSERS = 131_200;
const LEFT = 139_456;
const RIGHT = 143_296;
const SHARES = 147_136;
const LOW_PASSED = 147_168;
const SIZE_BYTES = 147_200;
/** -360 dB, added to what comes in: silence then ends here and not in subnormal numbers, which would be slow. */
const BIAS = 1e-18;

export interface ReverbTuning {
  /** Per line: what its low-pass takes of a new sample (the line's gain included) and keeps of the last. */
  readonly shares: readonly number[];
  readonly keep: number;
  /** Gain of what goes into the lines. */
  readonly input: number;
  /** Gains of what is heard: the sound itself, a side's own room, the other side's. */
  readonly dry: number;
  readonly wet: number;
  readonly cross: number;
}

/** Byte positions in left and right, the lines' next sample (a multiple of four), then the tuning. */
type Reverberate = (...numbers: [number, number, number, number, number, number, number, number]) => void;

export class ReverbKernel {
  /** In and out. */
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly #memory: ArrayBuffer;
  readonly #lines: Float32Array;
  readonly #diffusers: Float32Array;
  readonly #shares: Float32Array;
  readonly #lowPassed: Float32Array;
  readonly #reverberate: Reverberate | undefined;
  readonly #now = new Float64Array(8);
  /** Where the lines' next sample goes. */
  #at = 0;

  /** Remembers what `previous` does. `isSimd` false forces the plain loop (for tests). */
  constructor({ previous, isSimd = true }: { readonly previous: ReverbKernel | undefined; readonly isSimd?: boolean }) {
    const options = { isSimd, sizeBytes: SIZE_BYTES };
    const { memory, exports } = createWasmLoop<{ reverberate: Reverberate }>(REVERB_KERNEL_BASE64, options);
    this.#memory = memory;
    this.#reverberate = exports?.reverberate;
    this.#lines = new Float32Array(memory, 0, 8 * LINE_STRIDE);
    this.#diffusers = new Float32Array(memory, DIFFUSERS, 4 * DIFFUSER_STRIDE);
    this.left = new Float32Array(memory, LEFT, KERNEL_SAMPLES);
    this.right = new Float32Array(memory, RIGHT, KERNEL_SAMPLES);
    this.#shares = new Float32Array(memory, SHARES, 8);
    this.#lowPassed = new Float32Array(memory, LOW_PASSED, 8);
    if (previous === undefined) return;
    new Uint8Array(memory).set(new Uint8Array(previous.#memory));
    this.#at = previous.#at;
  }

  clear(): void {
    new Uint8Array(this.#memory).fill(0);
  }

  /** Changes what is in `left` and `right` from `start` to `end`. */
  run(start: number, end: number, tuning: ReverbTuning): void {
    const { shares, keep, input, dry, wet, cross } = tuning;
    for (let line = 0; line < 8; line++) this.#shares[line] = shares[line]!;
    let sample = start;
    if (this.#reverberate !== undefined && input === 1) {
      while (sample < end && this.#at % GROUP_SAMPLES !== 0) this.#step(sample++, tuning);
      const count = end - sample - ((end - sample) % GROUP_SAMPLES);
      this.#reverberate(4 * sample, 4 * (sample + count), this.#at, BIAS, keep, dry, wet, cross);
      this.#at = (this.#at + count) % LINE_SIZE;
      sample += count;
    }
    while (sample < end) this.#step(sample++, tuning);
  }

  /** One sample, as the WebAssembly does four. */
  #step(sample: number, { keep, input, dry, wet, cross }: ReverbTuning): void {
    const [shares, lowPassed, now] = [this.#shares, this.#lowPassed, this.#now];
    const left = this.left[sample]!;
    const right = this.right[sample]!;
    const fromLeft = this.#diffuse(1, this.#diffuse(0, left * input + BIAS));
    const fromRight = this.#diffuse(3, this.#diffuse(2, right * input + BIAS));
    for (let line = 0; line < 8; line++) {
      const past = this.#lines[line * LINE_STRIDE + ((this.#at - LINE_SAMPLES[line]!) & (LINE_SIZE - 1))]!;
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
      write(this.#lines, line * LINE_STRIDE, LINE_SIZE, this.#at, now[line]! + (isTurned ? -from : from));
    }
    this.#at = (this.#at + 1) % LINE_SIZE;
  }

  #diffuse(diffuser: number, value: number): number {
    const start = diffuser * DIFFUSER_STRIDE;
    const past = this.#diffusers[start + ((this.#at - DIFFUSER_SAMPLES[diffuser]!) & (DIFFUSER_SIZE - 1))]!;
    const kept = Math.fround(value - DIFFUSION * past);
    write(this.#diffusers, start, DIFFUSER_SIZE, this.#at & (DIFFUSER_SIZE - 1), kept);
    return past + DIFFUSION * kept;
  }
}

/** Sums and differences of neighbours, of pairs, of halves: a Hadamard matrix, the energy times eight. */
function mix(values: Float64Array): void {
  for (let distance = 1; distance < 8; distance *= 2) {
    for (let place = 0; place < 8; place++) {
      if ((place & distance) !== 0) continue;
      const [one, other] = [values[place]!, values[place + distance]!];
      values[place] = one + other;
      values[place + distance] = one - other;
    }
  }
}

function write(ring: Float32Array, ...[start, size, place, value]: [number, number, number, number]): void {
  ring[start + place] = value;
  if (place < GROUP_SAMPLES) ring[start + size + place] = value;
}
