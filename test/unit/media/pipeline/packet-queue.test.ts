import { describe, expect, it } from "vitest";
import type { AudioStream } from "../../../../src/media/format/packet.ts";
import { PacketQueue } from "../../../../src/media/pipeline/packet-queue.ts";

const STREAM: AudioStream = {
  codec: "opus",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
};

function entry(data: Uint8Array, durationMs = 0) {
  return { packet: { data, timestampMs: 0, durationMs, trimEndSamples: 0 }, stream: STREAM };
}

function fill(queue: PacketQueue, make: () => ReturnType<typeof entry>): number {
  for (let count = 1; count <= 100_000; count++) {
    queue.push(make());
    if (queue.isFull) return count;
  }
  return Number.POSITIVE_INFINITY;
}

describe("a packet queue", () => {
  it("a packet queue is full with a second of audio, with half a megabyte, or with more packets than a second holds", () => {
    expect(fill(new PacketQueue(), () => entry(new Uint8Array(100), 20))).toBe(50);
    expect(fill(new PacketQueue(), () => entry(new Uint8Array(16_384)))).toBe(32);
    expect(fill(new PacketQueue(), () => entry(new Uint8Array(1)))).toBe(512);
  });

  it("a packet queue is low again when half of its packets are taken", () => {
    const queue = new PacketQueue();
    fill(queue, () => entry(new Uint8Array(1)));
    while (!queue.isLow) queue.shift();
    expect(queue.length).toBe(255);
  });

  it("a packet queue is full when small packets hold large buffers", () => {
    const buffers = () => entry(new Uint8Array(65_536).subarray(0, 10));
    const queue = new PacketQueue();
    expect(fill(queue, buffers)).toBe(64);
    while (!queue.isLow) queue.shift();
    expect(queue.length).toBe(31);
    const shared = new Uint8Array(65_536);
    expect(fill(new PacketQueue(), () => entry(shared.subarray(0, 10)))).toBe(512);
  });

  it("a packet queue is full when each of its packets has its own large description", () => {
    const data = new Uint8Array(1);
    const perStream = () => ({ ...entry(data), stream: { ...STREAM, description: new Uint8Array(1024 * 1024) } });
    expect(fill(new PacketQueue(), perStream)).toBe(4);
  });

  it("a packet queue counts buffers right however packets come and go", () => {
    const queue = new PacketQueue();
    const buffers = Array.from({ length: 4 }, () => new Uint8Array(65_536));
    const packets = buffers.flatMap((buffer) => [entry(buffer.subarray(0, 1)), entry(buffer.subarray(1, 2))]);
    for (let round = 0; round < 200; round++) {
      for (const packet of packets) queue.push(packet);
      const taken = [queue.shift(), queue.shift(), queue.shift()].filter((packet) => packet !== undefined);
      queue.unshift(taken);
      while (queue.shift() !== undefined);
    }
    expect(fill(queue, () => entry(new Uint8Array(65_536).subarray(0, 10)))).toBe(64);
  });

  it("a packet queue copies a small packet out of a very large buffer", () => {
    const queue = new PacketQueue();
    queue.push(entry(new Uint8Array(4_000_000).fill(7).subarray(100, 110)));
    const data = queue.shift()?.packet.data;
    expect(data).toEqual(new Uint8Array(10).fill(7));
    expect(data?.buffer.byteLength).toBe(10);
  });
});
