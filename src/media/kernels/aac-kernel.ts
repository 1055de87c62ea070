// The AAC decoder as built (assembly/aac.ts): streams of a thread share the tables and the memory in which packets are
// decoded, and each pair of channels has a slot there for what it retains. Audio thread.

import type { AacElement } from "../format/aac-program.ts";
import {
  CHANNELS_MAX,
  ELEMENTS_BYTE,
  ELEMENTS_MAX,
  NO_ELEMENT,
  OUTPUT_BYTE,
  OUTPUT_SAMPLES,
  PACKET_BYTE,
  PACKET_BYTES_MAX,
  REPLICA_BYTES,
  REPLICAS_BYTE,
  SLOT_BYTES,
  SLOT_CLEARED_BYTES,
  SLOT_STREAM,
  SLOTS_BYTE,
  STATE_BYTES,
  STATES_BYTE,
  STREAM_REPLICATED,
} from "./numbers/aac.ts";
import { F32_BYTES } from "./numbers/block.ts";
import { type HeldSlots, StreamSlots } from "./stream-slots.ts";
import { readTables, WasmKernel } from "./wasm-loop.ts";

/** The exports of assembly/aac.ts. */
interface AacExports {
  decode(noise: number, fromByte: number, sizeBytes: number, rate: number, channels: number): number;
}

/** The largest packet that is decoded here; larger than eight channels at the highest bit rate. */
export const AAC_PACKET_BYTES_MAX = PACKET_BYTES_MAX;
const TABLES = readTables("aac");

class AacMemory {
  readonly #exports: AacExports;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly channels: readonly Float32Array[];

  constructor(memory: ArrayBuffer, exports: AacExports) {
    this.#exports = exports;
    this.#bytes = new Uint8Array(memory);
    this.#view = new DataView(memory);
    this.#bytes.set(TABLES);
    this.channels = Array.from(
      { length: CHANNELS_MAX },
      (_, channel) => new Float32Array(memory, OUTPUT_BYTE + F32_BYTES * OUTPUT_SAMPLES * channel, OUTPUT_SAMPLES),
    );
  }

  clear(slot: number): void {
    this.#bytes.fill(0, slot, slot + SLOT_CLEARED_BYTES);
  }

  decode(slots: readonly number[], packet: Uint8Array, { fromByte, rateIndex, layout }: AacPacket): number {
    this.#bytes.set(packet, PACKET_BYTE);
    for (let index = 0; index < ELEMENTS_MAX; index++) {
      const element = layout.elements[index];
      const { id = NO_ELEMENT, tag = NO_ELEMENT, channels = [] } = element ?? {};
      this.#view.setUint32(
        ELEMENTS_BYTE + 4 * index,
        id | (tag << 8) | ((channels[0] ?? 0) << 16) | ((channels[1] ?? 0) << 24),
        true,
      );
    }
    for (let channel = 0; channel < 2 * slots.length; channel++) {
      const slot = slots[channel >> 1]!;
      const side = channel & 1;
      this.#view.setUint32(STATES_BYTE + 4 * channel, slot + STATE_BYTES * side, true);
      this.#view.setUint32(REPLICAS_BYTE + 4 * channel, slot + SLOT_CLEARED_BYTES + REPLICA_BYTES * side, true);
    }
    const stream = slots[0]! + SLOT_STREAM;
    return this.#exports.decode(stream, fromByte, packet.length, rateIndex, layout.channelCount);
  }

  isReplicated(slots: readonly number[]): boolean {
    return this.#view.getInt32(slots[0]! + SLOT_STREAM + STREAM_REPLICATED, true) !== 0;
  }
}

/** How a stream's packets have its channels. */
export interface AacLayout {
  readonly elements: readonly AacElement[];
  readonly channelCount: number;
}

/** How a packet is to be read. */
export interface AacPacket {
  /** Where its audio begins, behind a header. */
  readonly fromByte: number;
  /** The number of the sample rate, in the order of the standard's table. */
  readonly rateIndex: number;
  readonly layout: AacLayout;
}

/** One for each pair of channels. */
const SLOTS = new StreamSlots({
  kernel: new WasmKernel<AacExports>("aac"),
  fromByte: SLOTS_BYTE,
  slotBytes: SLOT_BYTES,
  prepare: (memory, exports) => new AacMemory(memory, exports),
});

/** One stream. */
export class AacStream {
  readonly #held: HeldSlots<AacMemory>;
  /** None when it is closed. */
  #slots: readonly number[];

  private constructor(held: HeldSlots<AacMemory>) {
    this.#held = held;
    this.#slots = held.addresses;
    this.reset();
  }

  /** Undefined where the processor lacks the vector instructions. `channelCount`: of its packets, at most. */
  static start(channelCount: number): AacStream | undefined {
    const held = SLOTS.acquire((channelCount + 1) >> 1);
    return held && new AacStream(held);
  }

  /** Packets with more cannot be decoded. */
  get channelsMax(): number {
    return 2 * this.#slots.length;
  }

  /** The audio of the last packet. Valid until any stream's next packet. */
  get channels(): readonly Float32Array[] {
    return this.#held.memory.channels;
  }

  /**
   * Decodes a packet of AAC_PACKET_BYTES_MAX at most. Returns which channels it holds, the lowest bit for the first; 0
   * where it is damaged.
   */
  decode(packet: Uint8Array, how: AacPacket): number {
    return this.#slots.length === 0 ? 0 : this.#held.memory.decode(this.#slots, packet, how);
  }

  /** Its audio has twice the packets' rate: some packet has had data of HE-AAC. */
  get isReplicated(): boolean {
    return this.#slots.length > 0 && this.#held.memory.isReplicated(this.#slots);
  }

  /** Forgets all earlier packets. */
  reset(): void {
    for (const slot of this.#slots) this.#held.memory.clear(slot);
  }

  close(): void {
    this.#slots = [];
    this.#held.release();
  }
}
