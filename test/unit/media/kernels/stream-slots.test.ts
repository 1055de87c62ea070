// The slots of streams that share memories: how they are given out, and taken back.

import { describe, expect, test } from "vitest";
import { type HeldSlots, StreamSlots } from "../../../../src/media/kernels/stream-slots.ts";
import { WasmKernel } from "../../../../src/media/kernels/wasm-loop.ts";

const FROM_BYTE = 1000;
const SLOT_BYTES = 64;

function newSlots(): StreamSlots<unknown, ArrayBuffer> {
  return new StreamSlots({
    kernel: new WasmKernel<unknown>("vibrato"),
    fromByte: FROM_BYTE,
    slotBytes: SLOT_BYTES,
    prepare: (memory) => memory,
  });
}

function acquire(slots: StreamSlots<unknown, ArrayBuffer>, count = 1): HeldSlots<ArrayBuffer> {
  const held = slots.acquire(count);
  if (held === undefined) throw new Error("this processor has vector instructions");
  return held;
}

describe("slots of streams", () => {
  test("32 streams share a memory, the lowest slots first, and the next one gets another", () => {
    const slots = newSlots();
    const helds = Array.from({ length: 33 }, () => acquire(slots));
    const addresses = helds.slice(0, 32).map(({ addresses }) => addresses);
    expect(addresses).toEqual(Array.from({ length: 32 }, (_, index) => [FROM_BYTE + SLOT_BYTES * index]));
    expect(new Set(helds.slice(0, 32).map(({ memory }) => memory)).size).toBe(1);
    expect(helds[32]?.memory).not.toBe(helds[0]?.memory);
    expect(helds[32]?.addresses).toEqual([FROM_BYTE]);
  });

  test("the slots of one stream are in one memory, even if there are as many in two", () => {
    const slots = newSlots();
    const first = acquire(slots, 30);
    const second = acquire(slots, 4);
    expect(second.memory).not.toBe(first.memory);
    expect(new Set(second.addresses).size).toBe(4);
    expect(acquire(slots, 2).memory).toBe(first.memory);
  });

  test("a released slot is given to the next stream, and releasing it twice gives it to one only", () => {
    const slots = newSlots();
    const first = acquire(slots);
    first.release();
    first.release();
    const second = acquire(slots);
    expect(second.addresses).toEqual(first.addresses);
    expect(acquire(slots).addresses).not.toEqual(second.addresses);
  });
});
