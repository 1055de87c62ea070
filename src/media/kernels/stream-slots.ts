// The memories of one of our decoders on this thread: each is shared by several streams, which have a slot there for
// what they retain. Held by celt-kernel.ts, layer3-kernel.ts and aac-kernel.ts. Audio thread.

import type { WasmKernel } from "./wasm-loop.ts";

/** Slots of one memory. */
const SLOTS = 32;

interface StreamSlotsOptions<Exports, Memory> {
  readonly kernel: WasmKernel<Exports>;
  /** Where the first slot begins, behind the tables and the space that all streams decode in. */
  readonly fromByte: number;
  readonly slotBytes: number;
  /** Prepares a memory: writes its tables. */
  readonly prepare: (memory: ArrayBuffer, exports: Exports) => Memory;
}

/** Slots of one stream, until it releases them. */
export interface HeldSlots<Memory> {
  readonly memory: Memory;
  /** Where each begins. They hold what the last stream has left there. */
  readonly addresses: readonly number[];
  readonly release: () => void;
}

/** One for each decoder and thread. A memory is never given back: the next streams use it. */
export class StreamSlots<Exports, Memory> {
  readonly #options: StreamSlotsOptions<Exports, Memory>;
  readonly #memories: { readonly memory: Memory; readonly freeAddresses: number[] }[] = [];

  constructor(options: StreamSlotsOptions<Exports, Memory>) {
    this.#options = options;
  }

  /** So many slots (32 at most) in one memory; undefined where the processor lacks the vector instructions. */
  acquire(count: number): HeldSlots<Memory> | undefined {
    const found = this.#memories.find(({ freeAddresses }) => freeAddresses.length >= count) ?? this.#addMemory();
    if (found === undefined) return undefined;
    const { memory, freeAddresses } = found;
    const addresses = freeAddresses.splice(-count);
    let isHeld = true;
    const release = () => {
      if (isHeld) freeAddresses.push(...addresses);
      isHeld = false;
    };
    return { memory, addresses, release };
  }

  #addMemory() {
    const { kernel, fromByte, slotBytes, prepare } = this.#options;
    const loop = kernel.createLoop({ isSimd: true, sizeBytes: fromByte + SLOTS * slotBytes });
    if (loop.exports === undefined) return undefined;
    // The lowest is used first: pages that no stream has used take no memory.
    const freeAddresses = Array.from({ length: SLOTS }, (_, index) => fromByte + slotBytes * (SLOTS - 1 - index));
    const added = { memory: prepare(loop.memory, loop.exports), freeAddresses };
    this.#memories.push(added);
    return added;
  }
}
