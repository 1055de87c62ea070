import { expect, test } from "vitest";
import { concat, join } from "../../../../lab/media-files/bytes.ts";
import { cluster, matroskaHead, simpleBlock } from "../../../../lab/media-files/containers.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { MemoryByteSource, type MemoryByteSourceOptions } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const TRACK = { codec: "A_PCM/INT/LIT", rateHz: 8000, channels: 1, bitsPerSample: 16 };
const BLOCK_MS = 100;

/** Clusters of one second, from `startMs` on. */
function recording(startMs: number, seconds: number, declaredMs?: number): Uint8Array {
  const blocks = Array.from({ length: 10 }, (_, index) =>
    simpleBlock(index * BLOCK_MS, new Uint8Array(1600).fill(index)),
  );
  const head = matroskaHead(TRACK, declaredMs);
  return join([head, ...Array.from({ length: seconds }, (_, index) => cluster(startMs + index * 1000, blocks))]);
}

async function open(bytes: Uint8Array, options: MemoryByteSourceOptions = {}) {
  return openDemuxer(new MemoryByteSource(bytes, options), {}, createTrackBudget());
}

test.each([0, 3_600_000])(
  "WebM without a length that starts at %d ms has the length of its blocks, and seeks",
  async (startMs) => {
    const demuxer = await open(recording(startMs, 60));
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([60_000, true]);
    await demuxer.seek(42_300);
    expect(await demuxer.next()).toMatchObject({ timestampMs: 42_300, data: new Uint8Array(1600).fill(3) });
    await demuxer.seek(60_000);
    expect(await demuxer.next()).toBeUndefined();
  },
);

test.each([
  ["that is cut off", (bytes: Uint8Array) => bytes.subarray(0, -1000), 59_900],
  ["with junk behind it", (bytes: Uint8Array) => concat(bytes, new Uint8Array(5000).fill(7)), 60_000],
] as const)("WebM without a length %s has the length of its whole blocks", async (_, change, lengthMs) => {
  expect((await open(change(recording(0, 60)))).info.lengthMs).toBe(lengthMs);
});

test("WebM without a length stays a stream where its end is out of reach", async () => {
  const { info } = await open(recording(0, 60), { isRandomAccess: false, isSizeKnown: false });
  expect(info.lengthMs).toBeUndefined();
});

test.each([
  ["10 s", 0, 10_000],
  ["5 hours", 0, 18_000_000],
  ["the time of its end, and starts late", 3_600_000, 3_660_000],
  ["the right length, and starts late", 3_600_000, 60_000],
])("WebM that declares %s has the length of its blocks, and seeks", async (_, startMs, declaredMs) => {
  const demuxer = await open(recording(startMs, 60, declaredMs));
  expect(demuxer.info.lengthMs).toBe(60_000);
  await demuxer.seek(42_300);
  expect(await demuxer.next()).toMatchObject({ timestampMs: 42_300, data: new Uint8Array(1600).fill(3) });
});

test.each([10_000, 18_000_000])(
  "WebM that declares %d ms and is not measured seeks in all of it",
  async (declaredMs) => {
    const source = new MemoryByteSource(recording(0, 60, declaredMs));
    const demuxer = await openDemuxer(source, { isLengthNeeded: false }, createTrackBudget());
    await demuxer.seek(42_300);
    expect((await demuxer.next())?.timestampMs).toBe(42_300);
  },
);

test.each([59_500, 60_900])("WebM that declares about its length, %d ms, retains that", async (declaredMs) => {
  expect((await open(recording(0, 60, declaredMs))).info.lengthMs).toBe(declaredMs);
});

test("a last block that claims hours is not believed against the head", async () => {
  const block = simpleBlock(0, new Uint8Array(1600));
  const file = concat(recording(0, 60, 60_000), cluster(2_000_000_000, [block]));
  expect((await open(file)).info.lengthMs).toBe(60_000);
});

test.each([21, 3_600_021])(
  "audio before the timestamp of the first cluster, %d ms, is heard from 0 on",
  async (clusterMs) => {
    const block = simpleBlock(0x10000 - 21, new Uint8Array(1600));
    const demuxer = await open(join([matroskaHead(TRACK, clusterMs + 79), cluster(clusterMs, [block])]));
    expect((await demuxer.next())?.timestampMs).toBe(0);
  },
);
