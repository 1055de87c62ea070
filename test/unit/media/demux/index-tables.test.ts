// The tables of audio positions, in any order and with empty entries.

import { describe, expect, it } from "vitest";
import { be, concat } from "../../../../lab/media-files/bytes.ts";
import { DemuxWork } from "../../../../src/media/demux/demux-work.ts";
import { SeekTable } from "../../../../src/media/demux/flac/seek-table.ts";
import { FrameIndex } from "../../../../src/media/demux/mp3/frame-index.ts";
import { type SampleFrame, SampleTable } from "../../../../src/media/demux/mp4/sample-table.ts";
import { SeekIndex } from "../../../../src/media/demux/seek-index.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

function work(memoryBytes = Number.MAX_SAFE_INTEGER): DemuxWork {
  return new DemuxWork(createTrackBudget({ memoryBytes }));
}

function table(...entries: readonly (readonly number[])[]): Uint8Array {
  return concat(be(0, 4), be(entries.length, 4), ...entries.flat().map((value) => be(value, 4)));
}

interface Sample {
  readonly offsetBytes: number;
  readonly ticks: number;
}

const NO_FRAME: SampleFrame = { ticks: 0, isFixed: false, sizeBytes: 0 };

async function samplesOf(boxes: Readonly<Record<string, Uint8Array>>, fileBytes?: number, frame = NO_FRAME) {
  const samples = await SampleTable.read(new Map(Object.entries(boxes)), { work: work(), fileBytes, frame });
  const all: Sample[] = [];
  for (; !samples.isAtEnd; samples.advance()) {
    all.push({ offsetBytes: samples.offsetBytes, ticks: samples.ticks });
  }
  return { samples, all };
}

describe("the sample table of MP4", () => {
  const SIZES = concat(be(0, 8), be(6, 4), ...[10, 20, 30, 40, 50, 60].map((size) => be(size, 4)));
  const plain = {
    stsz: SIZES,
    stco: table([1000], [2000], [3000], [4000]),
    stsc: table([1, 1, 1], [2, 2, 1], [3, 1, 1], [4, 2, 1]),
    stts: table([2, 100], [4, 50]),
  };
  const OFFSETS = [1000, 2000, 2020, 3000, 4000, 4050];
  const TICKS = [0, 100, 200, 250, 300, 350];

  it("the MP4 sample table gives each sample its position and time", async () => {
    const { all, samples } = await samplesOf(plain);
    expect(all).toEqual(OFFSETS.map((offsetBytes, index) => ({ offsetBytes, ticks: TICKS[index] })));
    expect([samples.totalTicks, samples.sampleCount]).toEqual([400, 6]);
  });

  const untidy = {
    ...plain,
    stsc: table([1, 9, 1], [1, 1, 1], [2, 2, 1], [2, 2, 1], [1, 7, 1], [3, 1, 1], [4, 2, 1], [2, 5, 1], [99, 5, 1]),
    stts: table([0, 7], [2, 100], [0, 9], [0, 0], [4, 50], [0, 1]),
  };

  it("the MP4 sample table ignores entries without samples in between", async () => {
    const { all, samples } = await samplesOf(untidy);
    expect(all).toEqual(OFFSETS.map((offsetBytes, index) => ({ offsetBytes, ticks: TICKS[index] })));
    expect(samples.totalTicks).toBe(400);
  });

  it.each([
    [0, 0],
    [99, 0],
    [100, 1],
    [249, 2],
    [250, 3],
    [399, 5],
  ])("the MP4 sample table finds the sample at %i ticks", async (ticks, index) => {
    for (const boxes of [plain, untidy]) {
      const { samples } = await samplesOf(boxes);
      await samples.seek(ticks);
      expect([samples.offsetBytes, samples.ticks]).toEqual([OFFSETS[index], TICKS[index]]);
    }
  });

  it("the MP4 sample table ends behind its last sample", async () => {
    for (const boxes of [plain, untidy]) {
      const { samples } = await samplesOf(boxes);
      await samples.seek(400);
      expect(samples.isAtEnd).toBe(true);
    }
  });

  it("the MP4 sample table accepts no more samples of one size than the file has bytes for", async () => {
    const fixed = { ...plain, stsz: concat(be(0, 4), be(10, 4), be(0xffffffff, 4)) };
    expect((await samplesOf(fixed, 60)).samples.sampleCount).toBe(6);
  });
});

describe("the seek table of FLAC", () => {
  const point = (sample: number, offset: number) => concat(be(sample, 8), be(offset, 8), be(4096, 2));
  const PLACEHOLDER = new Uint8Array(18).fill(255);

  it.each([
    [0, 0, 500],
    [4095, 0, 500],
    [4096, 500, 900],
    [8191, 500, 900],
    [8192, 900, undefined],
  ])(
    "the FLAC seek table gives the points around sample %i, in whatever order they are",
    async (sample, lowBytes, highBytes) => {
      const inOrder = concat(point(0, 0), point(4096, 500), point(8192, 900), PLACEHOLDER);
      const mixed = concat(point(8192, 900), point(0, 0), point(4096, 500), PLACEHOLDER, point(1, 77));
      for (const body of [inOrder, mixed]) {
        expect(await new SeekTable(body).around(sample, work())).toEqual({ lowBytes, highBytes });
      }
    },
  );
});

describe("a seek index", () => {
  it("a seek index finds the latest point at or before a time, in whatever order they came", () => {
    const seekPoints = new SeekIndex(work());
    for (const [time, positionBytes] of [
      [30, 3],
      [10, 1],
      [20, 2],
      [20, 22],
    ] as const)
      seekPoints.add(time, positionBytes);
    expect([5, 10, 25, 99].map((time) => seekPoints.before(time)?.positionBytes)).toEqual([undefined, 1, 22, 3]);
    expect([seekPoints.earliest?.time, seekPoints.latest?.time, seekPoints.newest?.time]).toEqual([10, 30, 20]);
  });

  it("a seek index stores a limited number of points, in counted memory", () => {
    const budget = createTrackBudget();
    const seekPoints = new SeekIndex(new DemuxWork(budget));
    for (let time = 0; time < 100_000; time++) seekPoints.add(time, time);
    expect([seekPoints.count, budget.memory.usedBytes]).toEqual([65_536, 65_536 * 16]);
    expect(seekPoints.before(90_000)?.positionBytes).toBe(65_535);
  });
});

describe("the index of MP3 frames", () => {
  it("the MP3 frame index stops growing when memory runs out, and keeps answering", () => {
    const index = new FrameIndex(work(5000), []);
    for (let frame = 0; frame < 100_000; frame++) index.add(frame, frame * 10);
    expect(index.before(99_999)).toEqual({ frame: 511 * 32, positionBytes: 511 * 320 });
    expect(index.before(64)).toEqual({ frame: 64, positionBytes: 640 });
  });
});
