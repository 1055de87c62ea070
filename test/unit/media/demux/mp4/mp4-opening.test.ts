// How much of a fragmented MP4 file is asked for at its opening and at its first seek: each jump is a connection.

import { describe, expect, it } from "vitest";
import { concat } from "../../../../../lab/media-files/bytes.ts";
import { openDemuxer } from "../../../../../src/media/probe/open-demuxer.ts";
import { JumpingSource } from "../../../../support/jumping-source.ts";
import { readMediaFixture, readPackets } from "../../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../../support/memory-byte-source.ts";
import { mp4File } from "../../../../support/mp4-files.ts";
import { createTrackBudget } from "../../../../support/track-budgets.ts";

const SECONDS = 2;
const FRAGMENT_TICKS = SECONDS * 44_100;

/** A recording of video and audio in fragments of 2 s, the last one with so many bytes of video. */
function recording(options: { count: number; videoBytes: number; lastBytes: number; hasTailIndex?: boolean }) {
  const { count, videoBytes, lastBytes, hasTailIndex = false } = options;
  const fragments = Array.from({ length: count }, (_, index) => ({
    startTicks: index * FRAGMENT_TICKS,
    durations: Array<number>(40).fill(FRAGMENT_TICKS / 40),
    videoBytes: index === count - 1 ? lastBytes : videoBytes,
  }));
  return mp4File({ fragments, hasTailIndex });
}

async function open(bytes: Uint8Array, isLengthNeeded: boolean) {
  const source = new JumpingSource(bytes);
  return { source, demuxer: await openDemuxer(source, { isLengthNeeded }, createTrackBudget()) };
}

describe("opening a fragmented MP4 recording that was cut off", () => {
  const bytes = recording({ count: 60, videoBytes: 300 * 1024, lastBytes: 1200 * 1024 });

  it("a probe makes few jumps and estimates the length", async () => {
    const { source, demuxer } = await open(bytes, true);
    expect(source.jumps).toBeLessThan(25);
    expect(demuxer.info.lengthMs).toBeGreaterThan(100_000);
    expect(demuxer.info.lengthMs).toBeLessThan(150_000);
  });

  it("a player reads the beginning only", async () => {
    const { source, demuxer } = await open(bytes, false);
    expect(await demuxer.next()).toBeDefined();
    // One jump over the video in front of the audio.
    expect(source.jumps).toBeLessThan(2);
    expect(source.furthestBytes).toBeLessThan(1024 * 1024);
  });
});

describe("a fragmented MP4 recording with an index at its end", () => {
  const bytes = recording({ count: 30, videoBytes: 300 * 1024, lastBytes: 300 * 1024, hasTailIndex: true });

  it("a player asks for the index at the first seek, once", async () => {
    const { source, demuxer } = await open(bytes, false);
    await demuxer.next();
    expect(source.jumps).toBeLessThan(2);
    for (const targetMs of [50_000, 10_000]) {
      const before = source.jumps;
      await demuxer.seek(targetMs);
      const packet = await demuxer.next();
      expect(packet?.timestampMs).toBeGreaterThan(targetMs - 100);
      expect(packet?.timestampMs).toBeLessThanOrEqual(targetMs);
      expect(source.jumps - before).toBeLessThan(6);
    }
  });
});

it("a fragmented MP4 file with a quiet beginning is not walked through for its length", async () => {
  const fragments = Array.from({ length: 200 }, (_, index) => ({
    startTicks: index * FRAGMENT_TICKS,
    durations: Array<number>(40).fill(FRAGMENT_TICKS / 40),
    videoBytes: index < 6 ? 1000 : 100_000,
  }));
  const { source, demuxer } = await open(mp4File({ fragments }), true);
  expect(demuxer.info.lengthMs).toBe(400_000);
  expect(source.bytesRead).toBeLessThan(2 * 1024 * 1024);
});

it.each([true, false])(
  "an index of the last of joined MP4 files is not used for seeks (length needed: %s)",
  async (isNeeded) => {
    const [a, b] = [
      recording({ count: 12, videoBytes: 3000, lastBytes: 3000, hasTailIndex: true }),
      recording({ count: 10, videoBytes: 5000, lastBytes: 5000, hasTailIndex: true }),
    ];
    const { demuxer } = await open(concat(a, b), isNeeded);
    expect(await readPackets(demuxer)).toHaveLength(22 * 40);
    for (const targetMs of [21_000, 40_000, 5000]) {
      await demuxer.seek(targetMs);
      const packets = await readPackets(demuxer);
      expect(packets[0]?.timestampMs).toBeGreaterThan(targetMs - 100);
      expect(packets[0]?.timestampMs).toBeLessThanOrEqual(targetMs);
      expect(Math.abs(packets.length - (44_000 - targetMs) / 50)).toBeLessThan(4);
    }
  },
);

it("the length of joined files that is only estimated does not end seeks", async () => {
  const parts = Array<Uint8Array>(18).fill(recording({ count: 2, videoBytes: 1000, lastBytes: 700 * 1024 }));
  parts.push(recording({ count: 60, videoBytes: 1000, lastBytes: 1000 }));
  const { demuxer } = await open(concat(...parts), true);
  await demuxer.seek(demuxer.info.lengthMs!);
  const totalMs = (18 * 2 + 60) * SECONDS * 1000;
  expect(demuxer.info.lengthMs).toBeLessThan(totalMs);
  expect((await demuxer.next())?.timestampMs).toBeGreaterThan(demuxer.info.lengthMs! - 100);
});

describe("the memory of the seek points of an MP4 file", () => {
  it.each([
    ["joined from two", concat(readMediaFixture("aac-frag.mp4"), readMediaFixture("aac-frag.mp4"))],
    ["of one", readMediaFixture("aac-frag.mp4")],
  ])("counts one list only in a file %s", async (_, bytes) => {
    const budget = createTrackBudget();
    await openDemuxer(new MemoryByteSource(bytes), {}, budget);
    expect(budget.memory.usedBytes).toBeLessThan(64 * 16 + 600);
  });
});
