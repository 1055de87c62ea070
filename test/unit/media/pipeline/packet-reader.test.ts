import { describe, expect, it } from "vitest";
import { Heartbeat } from "../../../../src/bridge/heartbeat.ts";
import type { AudioStream, Packet } from "../../../../src/media/format/packet.ts";
import { PacketReader, type PacketReaderOptions } from "../../../../src/media/pipeline/packet-reader.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { CountingSlicer } from "../../../support/counting-slicer.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { HOSTILE_FILES } from "../../../support/hostile-files.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";
import { until } from "../../../support/voice-builders.ts";

const STREAM: AudioStream = {
  codec: "aac",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
};

function packetsOf(count: number, durationMs: number, sizeBytes = 10): Packet[] {
  return Array.from({ length: count }, (_, index) => ({
    data: new Uint8Array(sizeBytes).fill(0xfc),
    timestampMs: index * durationMs,
    durationMs,
    trimEndSamples: 0,
  }));
}

function setup(open: PacketReaderOptions["open"], onProgress: () => void = () => undefined, lengthMs?: number) {
  const slicer = new CountingSlicer();
  const heartbeat = new Heartbeat(Heartbeat.allocate());
  const budget = createTrackBudget({ clock: new FakeClock(), slicer, heartbeat });
  const failures: unknown[] = [];
  const reader = new PacketReader({
    input: { kind: "local", path: "/song", container: undefined },
    startMs: 0,
    lengthMs,
    open,
    budget,
    onProgress,
    onFailure: (error) => failures.push(error),
  });
  return { reader, budget, slicer, heartbeat, failures };
}

/** Takes packets until there are no more. */
async function drain(reader: PacketReader, failures: readonly unknown[]): Promise<number> {
  let count = 0;
  await until(() => {
    while (reader.queue.take() !== undefined) count += 1;
    reader.wake();
    return reader.isFinished || failures.length > 0;
  });
  return count;
}

function hostile(name: string, sizeBytes: number): PacketReaderOptions["open"] {
  const file = HOSTILE_FILES.find((candidate) => candidate.name === name);
  const bytes = file?.build(sizeBytes) ?? new Uint8Array(0);
  return (_input, work) => openDemuxer(new MemoryByteSource(bytes), {}, work.budget);
}

describe("a packet reader", () => {
  it("a packet reader reads through a file of empty laces without a single packet, and yields the thread", async () => {
    const { reader, slicer, failures, heartbeat } = setup(hostile("webm: blocks of 256 empty laces", 70_000));
    expect([await drain(reader, failures), failures]).toEqual([0, []]);
    expect(slicer.count).toBeGreaterThan(15);
    expect(slicer.count).toBeLessThan(80);
    expect(heartbeat.currentTask).toBeUndefined();
  });

  it("the end that was seen from the target of a jump is not before what is read later", async () => {
    const packets = packetsOf(500, 20);
    class EarlyEnd extends ScriptedDemuxer {
      override async seek(positionMs: number): Promise<void> {
        await super.seek(positionMs);
        // Times behind a seek are estimates.
        this.lateMs = positionMs === 9900 ? 1000 : 0;
      }
      lateMs = 0;
      override async next(): Promise<Packet | undefined> {
        const packet = await super.next();
        return packet && { ...packet, timestampMs: packet.timestampMs - this.lateMs };
      }
    }
    const demuxer = new EarlyEnd({ stream: STREAM, packets });
    const { reader } = setup(async () => demuxer, undefined, 11_000);
    reader.prepareJump({ fromMs: 0, toMs: 9900 });
    await until(() => reader.isJumpReady);
    expect(reader.lengthMs).toBe(9000);
    demuxer.holdAt(480, new Promise(() => undefined));
    reader.prepareJump(undefined);
    await until(() => {
      reader.queue.clear();
      reader.wake();
      return reader.readUntilMs > 9400;
    });
    expect(reader.lengthMs).toBeGreaterThanOrEqual(reader.readUntilMs);
    reader.close();
  });

  it("a packet reader stops at a limit of packets, however short they are", async () => {
    const demuxer = new ScriptedDemuxer({ stream: STREAM, packets: packetsOf(10_000, 0.1) });
    const { reader, heartbeat } = setup(async () => demuxer);
    await until(() => reader.queue.isFull && heartbeat.currentTask === undefined);
    expect(reader.queue.length).toBe(512);
    reader.close();
  });

  it.each(["webm: packets without time", "ogg: packets without time"])(
    "a packet reader ends a track whose packets hold no audio: %s",
    async (name) => {
      const { reader, failures } = setup(hostile(name, 100_000));
      expect(await drain(reader, failures)).toBeLessThanOrEqual(4097);
      expect(failures).toMatchObject([{ code: "media-damaged", message: expect.stringContaining("no audio") }]);
    },
  );

  it("a packet reader passes packets without a duration, as long as time advances", async () => {
    const packets = packetsOf(12_000, 5).map((packet) => ({ ...packet, durationMs: 0 }));
    const { reader, failures } = setup(async () => new ScriptedDemuxer({ stream: STREAM, packets }));
    expect([await drain(reader, failures), failures]).toEqual([12_000, []]);
  });

  it("a packet reader seeks to the same position twice within one burst", async () => {
    const demuxer = new ScriptedDemuxer({ stream: STREAM, packets: packetsOf(100, 20) });
    // The first packet of the new position has arrived, and the burst continues.
    const onProgress = (): void => {
      if (reader.runNumber === 1 && reader.seekTargetMs === undefined) reader.seek(1000);
    };
    const { reader, heartbeat } = setup(async () => demuxer, onProgress);
    await until(() => reader.queue.isFull && heartbeat.currentTask === undefined);
    reader.seek(1000);
    await until(() => reader.runNumber === 2 && reader.queue.length > 1);
    expect([demuxer.seeks, reader.queue.timestampMs]).toEqual([[1000, 1000], 920]);
    reader.close();
  });

  it("a packet reader ends a track of one stream after another without audio", async () => {
    const { reader, failures } = setup(hostile("ogg: one stream after another", 100_000));
    expect(await drain(reader, failures)).toBeLessThan(70);
    expect(failures).toMatchObject([{ code: "media-damaged", message: expect.stringContaining("one stream after") }]);
  });

  it("a packet reader drops Opus packets that no encoder makes", async () => {
    const stream = { ...STREAM, codec: "opus" } as const;
    const packets = [...packetsOf(1, 20, 70_000), ...packetsOf(2, 20, 100)];
    const { reader, failures } = setup(async () => new ScriptedDemuxer({ stream, packets }));
    expect([await drain(reader, failures), failures]).toEqual([2, []]);
  });

  it("a packet reader releases all memory when it is closed, also while it opens or waits for its time slice", async () => {
    const bytes = HOSTILE_FILES.find(({ name }) => name === "webm: a long cue list")?.build(600_000);
    for (const slicesBefore of [0, 1, 5, 20, 50]) {
      const source = new MemoryByteSource(bytes ?? new Uint8Array(0));
      const { reader, budget, slicer, heartbeat } = setup((_input, { signal, budget: given }) =>
        openDemuxer(source, { signal }, given),
      );
      await until(() => slicer.count >= slicesBefore);
      if (slicesBefore > 0) expect(budget.memory.usedBytes).toBeGreaterThan(0);
      reader.close();
      source.close();
      await until(() => heartbeat.currentTask === undefined);
      for (let round = 0; round < 10; round++) await new Promise((resolve) => setImmediate(resolve));
      expect(budget.memory.usedBytes).toBe(0);
    }
  });
});
