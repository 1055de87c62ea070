import { beforeEach, describe, expect, it } from "vitest";
import { PacketQueue } from "../../../../src/media/pipeline/packet-queue.ts";
import { numberedPackets, NUMBERED_STREAM as OPUS, packetNumber } from "../../../support/numbered-packets.ts";

const MP3 = { ...OPUS, codec: "mp3" } as const;

function entry(data: Uint8Array, durationMs = 0) {
  return { packet: { data, timestampMs: 0, durationMs, trimEndSamples: 0 }, stream: OPUS };
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
    while (!queue.isLow) queue.take();
    expect(queue.length).toBe(255);
  });

  it("a packet queue is full when each of its packets has its own large description, and low when they are taken", () => {
    const data = new Uint8Array(1);
    const perStream = () => ({ ...entry(data), stream: { ...OPUS, description: new Uint8Array(1024 * 1024) } });
    const queue = new PacketQueue();
    expect(fill(queue, perStream)).toBe(4);
    while (!queue.isLow) queue.take();
    expect(queue.length).toBe(1);
  });

  it("a packet queue that is cleared is empty, has no history, and takes as much as a new one", () => {
    const queue = new PacketQueue();
    fill(queue, () => entry(new Uint8Array(100), 20));
    queue.take();
    queue.clear();
    queue.rewind();
    expect([queue.length, queue.durationMs, queue.take()]).toEqual([0, 0, undefined]);
    expect(fill(queue, () => entry(new Uint8Array(100), 20))).toBe(50);
  });

  it("a packet of another codec than Opus keeps its bytes however many follow, and no history", () => {
    const queue = new PacketQueue();
    queue.push({ ...entry(Uint8Array.of(1, 2, 3)), stream: MP3 });
    const taken = queue.take();
    for (let count = 0; count < 40; count++) queue.push({ ...entry(new Uint8Array(1000).fill(9)), stream: MP3 });
    expect([taken?.packet.data, queue.history(9)]).toEqual([Uint8Array.of(1, 2, 3), []]);
  });
});

describe("packets that were taken", () => {
  let queue: PacketQueue;

  const numbers = () => Array.from({ length: queue.length }, () => packetNumber(queue.pass()));
  const history = () => queue.history(99).map(({ packet }) => packetNumber(packet.data));

  /** Takes packets 0 to 4 (0 to 80 ms) of ten. */
  beforeEach(() => {
    queue = new PacketQueue();
    for (const packet of numberedPackets(10)) queue.push({ packet, stream: OPUS });
    for (let count = 0; count < 5; count++) queue.pass();
  });

  it("packets that were passed through come again, the newest ones, and count as queued", () => {
    expect([queue.durationMs, history()]).toEqual([100, [0, 1, 2, 3, 4]]);
    queue.rewind(2);
    expect([queue.durationMs, queue.length, history()]).toEqual([140, 7, [0, 1, 2]]);
    expect(numbers()).toEqual([3, 4, 5, 6, 7, 8, 9]);
  });

  it("packets that were passed through are kept for 260 ms, decoded ones for 600 ms", () => {
    const take = { passed: () => queue.pass(), decoded: () => queue.take() };
    for (const [kind, count] of [
      ["passed", 13],
      ["decoded", 30],
    ] as const) {
      queue = new PacketQueue();
      for (const packet of numberedPackets(40)) queue.push({ packet, stream: OPUS });
      for (let number = 0; number < 40; number++) take[kind]();
      queue.rewind();
      expect(numbers(), kind).toEqual(Array.from({ length: count }, (_, index) => 40 - count + index));
    }
  });

  it("packets come again from the one that begins at a moment, to a rounding error", () => {
    expect(queue.rewindTo(40.4)).toBe(true);
    expect([history(), numbers()]).toEqual([
      [0, 1],
      [2, 3, 4, 5, 6, 7, 8, 9],
    ]);
  });

  it("packets do not come again when none begins at the moment, or it may not pass through", () => {
    expect([queue.rewindTo(40.6), queue.rewindTo(100)]).toEqual([false, false]);
    queue.clear();
    queue.push({ ...entry(Uint8Array.of(0xff)), stream: OPUS });
    queue.take();
    expect([queue.rewindTo(0), queue.dataAt(0), queue.history(9).length]).toEqual([false, undefined, 1]);
  });

  it("the packet that begins at a moment is found, though it was taken", () => {
    expect(packetNumber(queue.dataAt(60) ?? Uint8Array.of())).toBe(3);
    expect([queue.dataAt(50), queue.dataAt(100)]).toEqual([undefined, undefined]);
  });

  it("packets are forgotten, and those that wait stay", () => {
    queue.forget();
    queue.rewind();
    expect(numbers()).toEqual([5, 6, 7, 8, 9]);
  });

  it("packets that only warm up a decoder are skipped, up to half a packet before the start, and four are kept", () => {
    queue.clear();
    for (const packet of numberedPackets(10)) queue.push({ packet, stream: OPUS });
    queue.skipPreRoll(149);
    expect([queue.timestampMs, history()]).toEqual([140, [3, 4, 5, 6]]);
  });

  it("packets of other bytes that were played are skipped, and only those", () => {
    expect(queue.skipRepeated()).toBe(false);
    queue.clear();
    for (const packet of numberedPackets(10)) queue.push({ packet, stream: OPUS, fromMs: 65 });
    expect([queue.skipRepeated(), queue.timestampMs, queue.fromMs]).toEqual([true, 60, 65]);
  });

  it.each([
    [21, 40],
    [35, 40],
    [35.5, 60],
    [39.5, 60],
  ])("the start 5 to 25 ms behind %d ms is at %d ms", (atMs, startMs) => {
    expect(queue.startBehind(atMs)).toBe(startMs);
  });

  it.each([20, 78, 81, 120])("no start is found behind %d ms: a packet begins right there, or none is left", (atMs) => {
    expect(queue.startBehind(atMs)).toBeUndefined();
  });

  it("no start is found when one of the packets may not pass through", () => {
    queue.clear();
    const packets = numberedPackets(5);
    for (const packet of packets) queue.push({ packet, stream: OPUS });
    queue.push({ packet: { ...packets[0]!, data: Uint8Array.of(0xff), timestampMs: 100 }, stream: OPUS });
    while (queue.take() !== undefined);
    expect([queue.startBehind(41), queue.startBehind(61)]).toEqual([60, undefined]);
  });
});

describe("history that is kept for another start", () => {
  const queue = (stream: typeof MP3 | typeof OPUS) => {
    const filled = new PacketQueue();
    for (const packet of numberedPackets(60)) filled.push({ packet, stream });
    return filled;
  };

  it("packets come again from the one that holds a moment, or the oldest that is kept, whatever the codec", () => {
    const kept = queue(MP3);
    kept.keepHistory(300);
    for (let count = 0; count < 40; count++) kept.take();
    kept.returnBefore(790);
    expect([kept.timestampMs, kept.length]).toEqual([780, 21]);
    kept.returnBefore(499);
    expect(kept.timestampMs).toBe(480);
    kept.returnBefore(0);
    expect(kept.timestampMs).toBe(480);
  });

  it("history is dropped again once it is not needed", () => {
    const kept = queue(MP3);
    kept.keepHistory(300);
    for (let count = 0; count < 40; count++) kept.take();
    kept.keepHistory(0);
    kept.take();
    kept.returnBefore(0);
    expect(kept.timestampMs).toBe(820);
  });

  it("packets are skipped up to the one that holds a moment, and never the last", () => {
    const skipped = queue(OPUS);
    skipped.skipTo(119);
    expect(skipped.timestampMs).toBe(100);
    skipped.skipTo(100);
    expect(skipped.timestampMs).toBe(100);
    skipped.skipTo(100_000);
    expect([skipped.timestampMs, skipped.length]).toEqual([1180, 1]);
  });
});
