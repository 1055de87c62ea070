// The CELT decoder as built (assembly/celt.ts): streams of a thread share the tables and the memory in which frames are
// decoded, and each has a slot there for what it retains. Audio thread.

import { F32_BYTES } from "./numbers/block.ts";
import { AUDIO_BYTE, FRAME_BYTE, SLOT_BYTES, SLOTS_BYTE } from "./numbers/celt.ts";
import { type HeldSlots, StreamSlots } from "./stream-slots.ts";
import { WasmKernel } from "./wasm-loop.ts";

/** The exports of assembly/celt.ts. */
interface CeltExports {
  start(): number;
  reset(slot: number, channels: number): void;
  decode(slot: number, sizeBytes: number, sizeLog: number, bands: number, channels: number, gain: number): number;
  rangeAfterFrame(): number;
}

/** The longest frame: 20 ms. */
const CELT_SAMPLES_MAX = 960;
/** A slot, as part of the memory that 32 streams share: 0.7 MB. */
export const CELT_STREAM_BYTES = 22_000;

/** How a frame is to be read, from its packet's header (RFC 6716 table 2). */
export interface CeltFrameFormat {
  /** The binary logarithm of its length in 2.5 ms, 0 to 3. */
  readonly sizeLog: number;
  /** Coded bands: 13, 17, 19 or 21, by the bandwidth. */
  readonly bands: number;
  readonly channelCount: 1 | 2;
}

class CeltMemory {
  readonly #exports: CeltExports;
  readonly #bytes: Uint8Array;
  readonly channels: readonly [Float32Array, Float32Array];

  constructor(memory: ArrayBuffer, exports: CeltExports) {
    this.#exports = exports;
    this.#bytes = new Uint8Array(memory);
    if (exports.start() > SLOTS_BYTE) throw new Error("the CELT decoder's tables reach into its slots");
    const channelAt = (channel: number) =>
      new Float32Array(memory, AUDIO_BYTE + F32_BYTES * CELT_SAMPLES_MAX * channel, CELT_SAMPLES_MAX);
    this.channels = [channelAt(0), channelAt(1)];
  }

  get finalRange(): number {
    return this.#exports.rangeAfterFrame() >>> 0;
  }

  reset(slot: number, channelCount: 1 | 2): void {
    this.#exports.reset(slot, channelCount);
  }

  decode(slot: number, frame: Uint8Array, format: CeltFrameFormat, gain: number): boolean {
    this.#bytes.set(frame, FRAME_BYTE);
    const { sizeLog, bands, channelCount } = format;
    return this.#exports.decode(slot, frame.length, sizeLog, bands, channelCount, gain) !== 0;
  }
}

const SLOTS = new StreamSlots({
  kernel: new WasmKernel<CeltExports>("celt"),
  fromByte: SLOTS_BYTE,
  slotBytes: SLOT_BYTES,
  prepare: (memory, exports) => new CeltMemory(memory, exports),
});

/** One stream. */
export class CeltStream {
  readonly #held: HeldSlots<CeltMemory>;
  readonly #channelCount: 1 | 2;
  /** Undefined when it is closed. */
  #slot: number | undefined;

  private constructor(held: HeldSlots<CeltMemory>, channelCount: 1 | 2) {
    this.#held = held;
    this.#channelCount = channelCount;
    this.#slot = held.addresses[0];
    this.reset();
  }

  /** A stream with 1 or 2 output channels; undefined where the processor lacks the vector instructions. */
  static start(channelCount: 1 | 2): CeltStream | undefined {
    const held = SLOTS.acquire(1);
    return held && new CeltStream(held, channelCount);
  }

  /** The audio of the last frame, as long as that was; the second is not written with one channel. Valid until any stream's next frame. */
  get channels(): readonly [Float32Array, Float32Array] {
    return this.#held.memory.channels;
  }

  /** The state of the range coder after the last frame of any stream, which its encoder had too: for tests. */
  get finalRange(): number {
    return this.#held.memory.finalRange;
  }

  /** Decodes a frame of 2 to 1275 bytes, and multiplies the audio by `gain`. False: it is damaged. */
  decode(frame: Uint8Array, format: CeltFrameFormat, gain: number): boolean {
    return this.#slot !== undefined && this.#held.memory.decode(this.#slot, frame, format, gain);
  }

  /** Forgets all earlier frames. */
  reset(): void {
    if (this.#slot !== undefined) this.#held.memory.reset(this.#slot, this.#channelCount);
  }

  close(): void {
    this.#slot = undefined;
    this.#held.release();
  }
}
