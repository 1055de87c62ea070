// The MPEG layer III decoder as built (assembly/layer3.ts): streams of a thread share the tables and the memory in which
// frames are decoded, and each has a slot there for what it retains. Audio thread.

import { F32_BYTES } from "./numbers/block.ts";
import {
  FRAME_BYTE,
  FRAME_BYTES_MAX,
  OUTPUT_BYTE,
  OUTPUT_SAMPLES,
  SLOT_BYTES,
  SLOT_RESERVOIR,
  SLOTS_BYTE,
} from "./numbers/layer3.ts";
import { type HeldSlots, StreamSlots } from "./stream-slots.ts";
import { readTables, WasmKernel } from "./wasm-loop.ts";

/** The exports of assembly/layer3.ts. */
interface Layer3Exports {
  decode(
    slot: number,
    sizeBytes: number,
    sideAt: number,
    version: number,
    rate: number,
    channels: number,
    mode: number,
  ): number;
}

/** The largest packet that is decoded here. */
export const LAYER3_FRAME_BYTES_MAX = FRAME_BYTES_MAX;
const TABLES = readTables("layer3");

/** How the frame is to be read, from its header. */
export interface Layer3Frame {
  /** Where the side information begins, behind the header and a checksum. */
  readonly sideAt: number;
  /** 1, 2 or 2.5. */
  readonly version: number;
  /** 44.1, 48, 32, 22.05, 24, 16, 11.025, 12 and 8 kHz, from 0 on. */
  readonly rate: number;
  readonly channelCount: number;
  /** 1: intensity, 2: sum and difference, 3: both. */
  readonly mode: number;
}

class Layer3Memory {
  readonly #exports: Layer3Exports;
  readonly #bytes: Uint8Array;
  readonly channels: readonly [Float32Array, Float32Array];

  constructor(memory: ArrayBuffer, exports: Layer3Exports) {
    this.#exports = exports;
    this.#bytes = new Uint8Array(memory);
    this.#bytes.set(TABLES);
    const channelAt = (channel: number) =>
      new Float32Array(memory, OUTPUT_BYTE + F32_BYTES * OUTPUT_SAMPLES * channel, OUTPUT_SAMPLES);
    this.channels = [channelAt(0), channelAt(1)];
  }

  clear(slot: number): void {
    this.#bytes.fill(0, slot, slot + SLOT_BYTES);
  }

  /** `SLOT_RESERVOIR` begins behind the number of bytes in it. */
  emptyReservoir(slot: number): void {
    this.#bytes.fill(0, slot, slot + SLOT_RESERVOIR);
  }

  decode(slot: number, packet: Uint8Array, { sideAt, version, rate, channelCount, mode }: Layer3Frame): number {
    this.#bytes.set(packet, FRAME_BYTE);
    return this.#exports.decode(slot, packet.length, sideAt, version, rate, channelCount, mode);
  }
}

/** Streams share memories of 0.6 MB. */
const SLOTS = new StreamSlots({
  kernel: new WasmKernel<Layer3Exports>("layer3"),
  fromByte: SLOTS_BYTE,
  slotBytes: SLOT_BYTES,
  prepare: (memory, exports) => new Layer3Memory(memory, exports),
});

/** One stream. */
export class Layer3Stream {
  readonly #held: HeldSlots<Layer3Memory>;
  /** Undefined when it is closed. */
  #slot: number | undefined;

  private constructor(held: HeldSlots<Layer3Memory>) {
    this.#held = held;
    this.#slot = held.addresses[0];
    this.reset();
  }

  /** Undefined where the processor lacks the vector instructions. */
  static start(): Layer3Stream | undefined {
    const held = SLOTS.acquire(1);
    return held && new Layer3Stream(held);
  }

  /** The audio of the last frame: 1152 samples, or the first 576. Valid until any stream's next frame. */
  get channels(): readonly [Float32Array, Float32Array] {
    return this.#held.memory.channels;
  }

  /**
   * Decodes a frame of LAYER3_FRAME_BYTES_MAX at most. Returns its samples: none for what is no frame, and less than 0,
   * fading out, where it needs data of earlier frames that were not there.
   */
  decode(packet: Uint8Array, frame: Layer3Frame): number {
    return this.#slot === undefined ? 0 : this.#held.memory.decode(this.#slot, packet, frame);
  }

  /** A frame is missing: those that need its data fade out. */
  lose(): void {
    if (this.#slot !== undefined) this.#held.memory.emptyReservoir(this.#slot);
  }

  /** Forgets all earlier frames. */
  reset(): void {
    if (this.#slot !== undefined) this.#held.memory.clear(this.#slot);
  }

  close(): void {
    this.#slot = undefined;
    this.#held.release();
  }
}
