import { describe, expect, it } from "vitest";
import { NodeError } from "../../../../src/errors.ts";
import { ByteCursor } from "../../../../src/media/demux/byte-cursor.ts";
import { DemuxWork } from "../../../../src/media/demux/demux-work.ts";
import { AGAIN, PacketPump, type PumpOptions } from "../../../../src/media/demux/packet-pump.ts";
import type { Packet } from "../../../../src/media/format/packet.ts";
import { CountingSlicer } from "../../../support/counting-slicer.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

function packet(index: number, sizeBytes = 1): Packet {
  return { data: new Uint8Array(sizeBytes), timestampMs: index * 20, durationMs: 20, trimEndSamples: 0 };
}

function pumpOver(step: PumpOptions["step"], source = new MemoryByteSource(new Uint8Array(0))) {
  const slicer = new CountingSlicer();
  const work = new DemuxWork(createTrackBudget({ clock: new FakeClock(), slicer }));
  const cursor = new ByteCursor(source);
  return { pump: new PacketPump({ cursor, work, step }), slicer, cursor, work };
}

describe("a packet pump", () => {
  it("a packet pump yields the thread while packets are dropped on the way to a seek target", async () => {
    let count = 0;
    const { pump, slicer } = pumpOver(() => packet(count++));
    pump.dropUntil(20 * 100_000);
    expect((await pump.next())?.timestampMs).toBe(20 * 100_000);
    expect(slicer.count).toBeGreaterThanOrEqual(Math.floor(100_000 / 512));
  });

  it("a packet pump leaves out packets without content", async () => {
    let count = 0;
    const { pump } = pumpOver(() => (count++ < 1000 ? packet(count, 0) : packet(count)));
    expect((await pump.next())?.data).toHaveLength(1);
  });

  it("a packet pump returns what is there at once, and through next what it has to wait for, in the same order", async () => {
    const trimmed = { ...packet(4), trimEndSamples: 100 };
    const promised = Promise.resolve(packet(6));
    const steps: ReturnType<PumpOptions["step"]>[] = [packet(1), AGAIN, packet(2, 0), packet(3), trimmed, packet(5)];
    steps.push(promised, packet(7));
    let count = 0;
    const { pump } = pumpOver(() => steps[count++]);
    const read: (readonly [number | undefined, "now" | "later"])[] = [];
    for (let index = 0; index < 7; index++) {
      const now = pump.nextNow();
      read.push(now === undefined ? [(await pump.next())?.timestampMs, "later"] : [now.timestampMs, "now"]);
    }
    expect(read).toEqual([
      [20, "now"],
      [60, "later"],
      [80, "later"],
      [100, "later"],
      [120, "later"],
      [140, "now"],
      [undefined, "later"],
    ]);
  });

  it("a packet pump forgets after a seek what it could not return at once", async () => {
    const steps = [packet(1, 0), packet(9)];
    const { pump } = pumpOver(() => steps.shift());
    expect(pump.nextNow()).toBeUndefined();
    pump.dropUntil(0);
    expect((await pump.next())?.timestampMs).toBe(180);
  });

  it("a packet pump gives up when step after step yields no packet", async () => {
    const { pump } = pumpOver(() => AGAIN);
    await expect(pump.next()).rejects.toMatchObject({ code: "media-damaged" });
  });

  it("a packet pump gives up when it has read a gigabyte without a packet", async () => {
    const megabyte = 1024 * 1024;
    const source = new MemoryByteSource(new Uint8Array(megabyte));
    const { pump, cursor } = pumpOver(() => {
      cursor.moveTo(0);
      cursor.has(megabyte);
      cursor.moveTo(2 * megabyte);
      return AGAIN;
    }, source);
    await cursor.need(megabyte);
    await expect(pump.next()).rejects.toMatchObject({ code: "media-damaged" });
    expect(source.bytesRead / megabyte).toBeGreaterThan(1023);
    expect(source.bytesRead / megabyte).toBeLessThan(1030);
  });

  it("a packet pump returns what it has read, untrimmed, before an error behind it", async () => {
    let count = 0;
    const { pump } = pumpOver(() => {
      if (count === 3) throw new NodeError("input-interrupted", "the connection was lost");
      const read = { ...packet(count), trimEndSamples: count > 3 ? 0 : 960 };
      count += 1;
      return read;
    });
    for (const timestampMs of [0, 20, 40]) {
      expect(await pump.next()).toMatchObject({ timestampMs, trimEndSamples: 0 });
    }
    await expect(pump.next()).rejects.toMatchObject({ code: "input-interrupted" });
    count = 4;
    expect((await pump.next())?.timestampMs).toBe(80);
  });

  it("a packet pump returns packets read ahead that a seek forward does not pass", async () => {
    let count = 0;
    const { pump } = pumpOver(() => ({ ...packet(count), trimEndSamples: count++ < 3 ? 960 : 0 }));
    expect([pump.heldMs, (await pump.next())?.timestampMs, pump.heldMs]).toEqual([undefined, 0, 20]);
    pump.skipUntil(45);
    expect([(await pump.next())?.timestampMs, pump.heldMs, (await pump.next())?.timestampMs]).toEqual([40, 60, 60]);
    pump.skipUntil(200);
    expect([pump.heldMs, (await pump.next())?.timestampMs]).toEqual([undefined, 200]);
  });

  it("a packet pump ends at its next time slice when the reader is closed", async () => {
    const { pump, work } = pumpOver(() => AGAIN);
    const next = pump.next();
    work.close();
    await expect(next).rejects.toMatchObject({ code: "input-closed" });
  });
});
