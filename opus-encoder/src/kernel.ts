// The encoder as built (assembly/): compiled once, and started once per thread. All encoders of a thread share its
// memory, where each has a slot; a frame costs no allocation on either side. docs/design.md describes how it works.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FrameHead } from "./frame-head.ts";
import {
  F32_BYTES,
  FRAME_SAMPLES,
  INPUT_BYTE,
  PACKET_BYTE,
  PACKET_BYTES_MAX,
  SLOT_BYTES,
  SLOTS_BYTE,
} from "./numbers.ts";
import { PAGE_BYTES, type WasmMemory, type WasmModule, wasm } from "./web-assembly.ts";

/** The exports of assembly/opus-encoder.ts. */
interface EncoderExports {
  start(): number;
  reset(slot: number, channelCount: number): void;
  encode(
    slot: number,
    bitsPerSecond: number,
    isVariable: number,
    isIndependent: number,
    period: number,
    gainStep: number,
    taps: number,
    isTransient: number,
  ): number;
  rangeAfterPacket(): number;
}

/**
 * Settings for one frame.
 * @internal
 */
interface FrameSettings {
  /** 6000 to 510000. */
  readonly bitrateBps: number;
  /** Packets vary in size around the bit rate; otherwise all have the same. */
  readonly isVariable: boolean;
}

/** The built file: beside the compiled form of this one, which tests run from its source. */
const OPUS_ENCODER_FILE = new URL(
  `${import.meta.url.endsWith(".ts") ? "../dist" : "."}/opus-encoder.wasm`,
  import.meta.url,
);
/** Capacity for 1,400 encoders. */
const PAGES_MAX = 256;
const FIRST_PAGES = Math.ceil((SLOTS_BYTE + 4 * SLOT_BYTES) / PAGE_BYTES);
/** Memory grows by this many pages at a time. */
const GROWTH_PAGES = 4;
/** After 100 to 200 frames nearly all of the time is spent in functions that V8 has optimized. */
const WARM_UP_FRAMES = 300;
const WARM_UP_KNOCK_FRAMES = 10;
/** A period below 0: the encoder chooses. */
const CHOSEN_HEAD: FrameHead = { period: -1, gainStep: 0, taps: 0, isTransient: false };

/**
 * Compiles the encoder. The module can be sent to other threads.
 * @throws Error when opus-encoder.wasm cannot be read, or the processor has no SIMD
 */
export function compileOpusEncoder(): WasmModule {
  return new wasm.Module(readBuilt());
}

function readBuilt(): Uint8Array {
  try {
    return readFileSync(OPUS_ENCODER_FILE);
  } catch (cause) {
    const advice =
      "run `npm run build` in a checkout of Tonearm; a bundled application needs a copy of the package's file there";
    throw new Error(`cannot read the Opus encoder ${fileURLToPath(OPUS_ENCODER_FILE)}: ${advice}`, { cause });
  }
}

/**
 * Compiles the encoder, and encodes some seconds of noise with it, about 0.1 s of work: V8 makes fast code only of
 * functions that are hot, so a node that has just started would be slow for every player at once. Functions that are
 * hot here are hot on all threads that get the module.
 */
export function compileWarmOpusEncoder(): WasmModule {
  const module = compileOpusEncoder();
  warmUp(new OpusEncoderKernel(module));
  return module;
}

/** Noise that is loud now and then: transient frames and steady ones, with both kinds of packets. */
function warmUp(kernel: OpusEncoderKernel): void {
  const slot = kernel.acquire(2);
  const [left, right] = [new Float32Array(FRAME_SAMPLES), new Float32Array(FRAME_SAMPLES)];
  const into = new Uint8Array(PACKET_BYTES_MAX);
  let state = 1;
  for (let frame = 0; frame < WARM_UP_FRAMES; frame++) {
    const level = frame % WARM_UP_KNOCK_FRAMES === 0 ? 1 : 0.1;
    for (let index = 0; index < FRAME_SAMPLES; index++) {
      // A linear congruential generator: any noise will do.
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
      const noise = state / 2 ** 31;
      left[index] = level * noise;
      right[index] = level * noise * noise;
    }
    kernel.encode(slot, left, right, { bitrateBps: 128_000, isVariable: frame % 2 === 0 }, false, undefined, into);
  }
}

/** One per thread. One call at a time, as all encoders share the buffers of audio and packet. */
export class OpusEncoderKernel {
  readonly #memory: WasmMemory;
  readonly #exports: EncoderExports;
  readonly #freeSlots: number[] = [];
  #left!: Float32Array;
  #right!: Float32Array;
  #packet!: Uint8Array;
  #endByte = SLOTS_BYTE;

  constructor(module: WasmModule) {
    this.#memory = new wasm.Memory({ initial: FIRST_PAGES, maximum: PAGES_MAX });
    // The module built from assembly/ exports this; its tests would not run otherwise.
    this.#exports = new wasm.Instance<EncoderExports>(module, { env: { memory: this.#memory } }).exports;
    this.#view();
    if (this.#exports.start() > SLOTS_BYTE) throw new Error("the encoder's tables reach into its slots");
  }

  /**
   * A new encoder: the address of its slot, 12 kB. The caller must release it. Throws when there is no space.
   * @internal
   */
  acquire(channelCount: 1 | 2): number {
    const slot = this.#freeSlots.pop() ?? this.#newSlot();
    this.reset(slot, channelCount);
    return slot;
  }

  /**
   * Frees a slot. Call once for each.
   * @internal
   */
  release(slot: number): void {
    this.#freeSlots.push(slot);
  }

  /**
   * Resets an encoder to the state before its first frame.
   * @internal
   */
  reset(slot: number, channelCount: 1 | 2): void {
    this.#exports.reset(slot, channelCount);
  }

  /**
   * The complete state of an encoder: may be copied, and overwritten with such a copy. Empty once the memory has grown.
   * @internal
   */
  viewSlot(slot: number): Uint8Array {
    return new Uint8Array(this.#memory.buffer, slot, SLOT_BYTES);
  }

  /**
   * Encodes the first 960 samples of both sides (of the left one, with one channel) and writes the packet to `into`,
   * which is 1276 bytes long or more; returns its size. The packet is valid whatever the audio. `isIndependent`: it
   * does not depend on earlier packets, and has no pitch filter. `head` is the header it must begin with; undefined: the
   * encoder chooses. Arguments are checked by the caller.
   * @internal
   */
  encode(
    slot: number,
    left: Float32Array,
    right: Float32Array,
    settings: FrameSettings,
    isIndependent: boolean,
    head: FrameHead | undefined,
    into: Uint8Array,
  ): number {
    this.#left.set(frameOf(left));
    this.#right.set(frameOf(right));
    const { bitrateBps, isVariable } = settings;
    const { period, gainStep, taps, isTransient } = head ?? CHOSEN_HEAD;
    const variable = isVariable ? 1 : 0;
    const independent = isIndependent ? 1 : 0;
    const short = isTransient ? 1 : 0;
    const size = this.#exports.encode(slot, bitrateBps, variable, independent, period, gainStep, taps, short);
    // Copies the whole buffer: a view of just the packet would be an object for each frame.
    into.set(this.#packet);
    return size;
  }

  /**
   * The range that a decoder must have after the last packet, unsigned: for tests.
   * @internal
   */
  get finalRange(): number {
    return this.#exports.rangeAfterPacket() >>> 0;
  }

  #newSlot(): number {
    const slot = this.#endByte;
    const sizeBytes = this.#memory.buffer.byteLength;
    if (slot + SLOT_BYTES > sizeBytes) {
      if (sizeBytes + GROWTH_PAGES * PAGE_BYTES > PAGES_MAX * PAGE_BYTES) {
        throw new Error("the Opus encoder's memory is full: it has no space for another encoder");
      }
      this.#memory.grow(GROWTH_PAGES);
      this.#view();
    }
    this.#endByte += SLOT_BYTES;
    return slot;
  }

  /** Views of the memory end with its growth. */
  #view(): void {
    const { buffer } = this.#memory;
    this.#left = new Float32Array(buffer, INPUT_BYTE, FRAME_SAMPLES);
    this.#right = new Float32Array(buffer, INPUT_BYTE + F32_BYTES * FRAME_SAMPLES, FRAME_SAMPLES);
    this.#packet = new Uint8Array(buffer, PACKET_BYTE, PACKET_BYTES_MAX);
  }
}

/** Pipelines' arrays are as long as a frame; a longer one costs a view. */
function frameOf(side: Float32Array): Float32Array {
  return side.length === FRAME_SAMPLES ? side : side.subarray(0, FRAME_SAMPLES);
}
