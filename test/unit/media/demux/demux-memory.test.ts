// Container readers reserve the memory they retain before it is allocated, and release it when they are closed.

import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ByteCursor } from "../../../../src/media/demux/byte-cursor.ts";
import { DemuxWork } from "../../../../src/media/demux/demux-work.ts";
import { readOwned } from "../../../../src/media/demux/owned-bytes.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { HOSTILE_FILES } from "../../../support/hostile-files.ts";
import { readMediaFixture } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const MEGABYTE = 1024 * 1024;
const NAMES = readdirSync(new URL("../../../fixtures/demux", import.meta.url));

function hostile(name: string, sizeBytes: number): Uint8Array {
  const file = HOSTILE_FILES.find((candidate) => candidate.name === name);
  if (file === undefined) throw new Error(`no such file: ${name}`);
  return file.build(sizeBytes);
}

describe("a container reader", () => {
  it.each(NAMES)("a container reader of %s releases all memory when it is closed, wherever it is", async (name) => {
    const budget = createTrackBudget();
    for (const isRandomAccess of [true, false]) {
      const source = new MemoryByteSource(readMediaFixture(name), { isRandomAccess, isSizeKnown: isRandomAccess });
      const demuxer = await openDemuxer(source, {}, budget).catch(() => undefined);
      for (let count = 0; count < 300; count++) if ((await demuxer?.next()) === undefined) break;
      if (isRandomAccess) await demuxer?.seek(500).catch(() => undefined);
      demuxer?.close();
      expect(budget.memory.usedBytes).toBe(0);
    }
  });

  it.each([
    ["mp4: times of no samples", 4],
    ["mp4: samples of no bytes", 4],
    ["mp4: runs of no chunks", 4],
    ["webm: a long cue list", 4],
    ["webm: Vorbis headers of zeros", 3],
  ])("a container reader rejects tables that exceed its memory: %s", async (name, megabytes) => {
    const bytes = hostile(name, megabytes * MEGABYTE);
    const budget = createTrackBudget({ memoryBytes: 2 * MEGABYTE });
    await expect(openDemuxer(new MemoryByteSource(bytes), {}, budget)).rejects.toMatchObject({
      code: "memory-exhausted",
      message: expect.stringContaining("the track needs"),
    });
    expect(budget.memory.usedBytes).toBe(0);
  });

  it("an MP4 reader counts the memory of its index once", async () => {
    const budget = createTrackBudget();
    const source = new MemoryByteSource(hostile("mp4: times of no samples", 4 * MEGABYTE));
    const demuxer = await openDemuxer(source, {}, budget);
    expect(budget.memory.usedBytes).toBeGreaterThan(4 * MEGABYTE);
    expect(budget.memory.usedBytes).toBeLessThan(4.1 * MEGABYTE);
    demuxer.close();
    expect(budget.memory.usedBytes).toBe(0);
  });

  it("a container reader reserves nothing more after it is closed in the middle of its work", async () => {
    const budget = createTrackBudget();
    const work = new DemuxWork(budget);
    work.take(100, "its index");
    work.close();
    expect(() => work.take(100, "its index")).toThrow(expect.objectContaining({ code: "input-closed" }));
    await expect(work.yield()).rejects.toMatchObject({ code: "input-closed" });
    expect([work.tryTake(1, "its index"), budget.memory.usedBytes]).toEqual([false, 0]);
  });
});

describe("owned bytes", () => {
  it("owned bytes are counted as they arrive, not as they are claimed", async () => {
    const budget = createTrackBudget({ memoryBytes: MEGABYTE });
    const work = new DemuxWork(budget);
    const source = new MemoryByteSource(new Uint8Array(300_000), { isSizeKnown: false });
    const bytes = await readOwned(new ByteCursor(source), { sizeBytes: 50 * MEGABYTE, work, purpose: "a test" });
    expect([bytes.length, budget.memory.usedBytes]).toEqual([300_000, 300_000]);
  });

  it("owned bytes end at the memory limit, before more is read", async () => {
    const work = new DemuxWork(createTrackBudget({ memoryBytes: MEGABYTE }));
    const source = new MemoryByteSource(new Uint8Array(3 * MEGABYTE), { readAheadBytes: 0 });
    const cursor = new ByteCursor(source);
    const reading = readOwned(cursor, { sizeBytes: 3 * MEGABYTE, work, purpose: "a test" });
    await expect(reading).rejects.toMatchObject({ code: "memory-exhausted" });
    expect(source.bytesRead).toBe(MEGABYTE);
  });
});
