import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { PacketStore, type QueuedPacket } from "../../../../src/media/pipeline/packet-store.ts";
import { NUMBERED_STREAM as OPUS } from "../../../support/numbered-packets.ts";

/** A packet of `sizeBytes` that is told from others by its bytes, its times and its stream. */
function entryOf(number: number, sizeBytes: number): QueuedPacket {
  const data = new Uint8Array(sizeBytes).map((_, index) => number * 31 + index);
  const packet = { data, timestampMs: number * 20 - 6.5, durationMs: 20, trimEndSamples: number % 3 };
  return { packet, stream: { ...OPUS, channelCount: 1 + (number % 2) }, fromMs: number % 5 === 0 ? number : undefined };
}

describe("a packet store", () => {
  it.each([1, 2, 3, 4, 5])(
    "a packet store returns what was pushed, whatever is dropped and however large, seed %d",
    (seed) => {
      const random = seededRandom(seed);
      const store = new PacketStore();
      const model = new Map<number, QueuedPacket>();
      for (let step = 0; step < 4000; step++) {
        const isLarge = random() < 0.002;
        const entry = entryOf(step, Math.floor(random() * (isLarge ? 60_000 : 400)));
        model.set(store.end, entry);
        store.push(entry);
        // Mostly as many as in a second, at times none or hundreds.
        const keptMax = random() < 0.02 ? Math.floor(random() * 400) : 60;
        const first = Math.max(store.first, store.end - keptMax);
        for (let number = store.first; number < first; number++) model.delete(number);
        store.dropBefore(first);
        const probed = first + Math.floor(random() * (store.end - first));
        if (probed < store.end) expect(store.packetOf(probed)).toEqual(model.get(probed));
        expect(store.end - store.first).toBe(model.size);
      }
      for (const [number, entry] of model) expect(store.packetOf(number)).toEqual(entry);
    },
  );

  it("a packet store leaves bytes alone that were read before it was cleared", () => {
    const store = new PacketStore();
    store.push(entryOf(1, 100));
    const data = store.dataOf(0);
    store.clear();
    store.push(entryOf(2, 100));
    expect([data, store.first, store.end]).toEqual([entryOf(1, 100).packet.data, 1, 2]);
  });

  it("a packet store keeps no ring of a megabyte once it is empty", () => {
    const store = new PacketStore();
    store.push(entryOf(1, 1_500_000));
    store.dropBefore(1);
    store.push(entryOf(2, 100));
    expect(store.dataOf(1).buffer.byteLength).toBeLessThan(65_536);
  });

  it("a packet store counts the set-up data of a stream with its first packet", () => {
    const store = new PacketStore();
    const stream = { ...OPUS, description: new Uint8Array(19) };
    for (const pushed of [stream, stream, { ...stream }]) store.push({ ...entryOf(1, 10), stream: pushed });
    expect([0, 1, 2].map((number) => store.descriptionBytesOf(number))).toEqual([19, 0, 19]);
  });
});
