// FLAC whose head is missing, invalid or of another file: the frames say what they are.

import { expect, test } from "vitest";
import { ascii, be, bits, concat, digits } from "../../../../lab/media-files/bytes.ts";
import { flacFrame, flacHead } from "../../../../lab/media-files/containers.ts";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { type FlacSpec, flacFile } from "../../../support/flac-writer.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const SPEC: FlacSpec = { bitsPerSample: 16, rateHz: 44_100, blockSamples: 576, coding: { kind: "fixed", order: 1 } };
const SAMPLES = Array.from({ length: 576 * 40 + 100 }, (_, at) => Math.round(9000 * Math.sin(at / 9) + at / 10));
/** Written by ffmpeg: its frames have their rate. */
const SONG = readMediaFixture("small.flac");

interface Info {
  readonly blockSamples: readonly [number, number];
  readonly rateHz: number;
  readonly channels: number;
  readonly bitsPerSample: number;
  readonly totalSamples: number;
}

function withInfo(file: Uint8Array, change: Partial<Info>): Uint8Array {
  const view = Buffer.from(file);
  const packed = view.readUInt32BE(18);
  const info: Info = {
    blockSamples: [view.readUInt16BE(8), view.readUInt16BE(10)],
    rateHz: packed >>> 12,
    channels: ((packed >>> 9) & 7) + 1,
    bitsPerSample: ((packed >>> 4) & 31) + 1,
    totalSamples: view.readUInt32BE(22),
    ...change,
  };
  const format = digits(info.rateHz, 20) + digits(info.channels - 1, 3) + digits(info.bitsPerSample - 1, 5);
  view.set(concat(be(info.blockSamples[0], 2), be(info.blockSamples[1], 2)), 8);
  view.set(bits(format + digits(info.totalSamples, 36)), 18);
  return view;
}

interface Played {
  readonly lengthMs: number | undefined;
  readonly rateHz: number;
  readonly timesMs: readonly number[];
  readonly samples: readonly number[];
}

async function play(bytes: Uint8Array, { seekMs = 0, isLengthNeeded = true } = {}): Promise<Played> {
  const demuxer = await openDemuxer(new MemoryByteSource(bytes), { isLengthNeeded }, createTrackBudget());
  const decoder = await createDecoder(demuxer.stream);
  if (seekMs > 0) await demuxer.seek(seekMs);
  const [timesMs, samples]: [number[], number[]] = [[], []];
  for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next()) {
    const { channels, lengthSamples } = await decoder.decode(packet.data);
    timesMs.push(packet.timestampMs);
    samples.push(...(channels[0]?.subarray(0, lengthSamples) ?? []));
  }
  decoder.close();
  return { lengthMs: demuxer.info.lengthMs, rateHz: demuxer.stream.sampleRateHz, timesMs, samples };
}

const WRONG: readonly (readonly [string, Partial<Info>])[] = [
  ["blocks that are too small", { blockSamples: [16, 16] }],
  ["blocks that are too large", { blockSamples: [65_535, 65_535] }],
  ["blocks of any size", { blockSamples: [16, 65_535] }],
  ["blocks of no size", { blockSamples: [0, 0] }],
  ["another number of channels", { channels: 5 }],
  ["another bit depth", { bitsPerSample: 24 }],
  ["no bit depth", { bitsPerSample: 1 }],
  ["too few samples", { totalSamples: 900 }],
  ["too many samples", { totalSamples: 2 ** 32 }],
];

test.each(WRONG)("FLAC whose head claims %s plays with the right length and positions", async (_, change) => {
  const file = flacFile([SAMPLES], SPEC);
  const right = await play(file);
  expect(right.lengthMs).toBe(524);
  expect(await play(withInfo(file, change))).toEqual(right);
  for (const isLengthNeeded of [true, false]) {
    const { timesMs } = await play(withInfo(file, change), { seekMs: 400, isLengthNeeded });
    expect(timesMs[0]).toBeLessThanOrEqual(400);
    expect(timesMs[0]).toBeGreaterThan(400 - 14);
  }
});

test("FLAC whose head claims another rate plays at the rate of its frames", async () => {
  const right = await play(SONG);
  expect(await play(withInfo(SONG, { rateHz: 2 * right.rateHz }))).toEqual(right);
});

test("FLAC without STREAMINFO plays when its frames say everything", async () => {
  const right = await play(SONG);
  const comment = concat(Uint8Array.of(0x81), be(20, 3), new Uint8Array(20));
  const firstFrame = Buffer.from(SONG).indexOf(Uint8Array.of(0xff, 0xf8));
  expect(await play(concat(ascii("fLaC"), comment, SONG.subarray(firstFrame)))).toEqual(right);
});

test("FLAC with a metadata block that claims more bytes than it has plays from its first frame on", async () => {
  const file = flacFile([SAMPLES], SPEC);
  const head = file.slice(0, 42);
  head[4] = 0;
  const block = (claimedBytes: number) => concat(Uint8Array.of(0x81), be(claimedBytes, 3), new Uint8Array(100));
  const right = await play(file);
  expect(await play(concat(head, block(5000), file.subarray(42)))).toEqual(right);
  expect(await play(concat(head, block(500_000), file.subarray(42)))).toEqual(right);
});

test("FLAC that is cut off has the length of what is there", async () => {
  const file = flacFile([SAMPLES], SPEC);
  const { lengthMs } = await play(file.subarray(0, Math.floor(file.length / 2)));
  expect(lengthMs).toBeGreaterThan(524 * 0.45);
  expect(lengthMs).toBeLessThan(524 * 0.56);
  // The last frame counts when it is whole, whatever stands behind it.
  const [whole, cut] = [Math.floor(SAMPLES.length / 44.1), Math.floor((576 * 40) / 44.1)];
  expect((await play(file)).lengthMs).toBe(whole);
  expect((await play(file.subarray(0, -3))).lengthMs).toBe(cut);
  expect((await play(concat(file, ascii("TAG"), new Uint8Array(125)))).lengthMs).toBe(whole);
});

test("FLAC whose large comment block is damaged plays from a source that only goes forward", async () => {
  const file = flacFile([SAMPLES], SPEC);
  const head = file.slice(0, 42);
  head[4] = 0;
  const comments = concat(Uint8Array.of(0x84), be(200_000, 3), new Uint8Array(200_000).fill(0xff));
  const source = new MemoryByteSource(concat(head, comments, file.subarray(42)), { isRandomAccess: false });
  const demuxer = await openDemuxer(source, {}, createTrackBudget());
  expect(await readPackets(demuxer)).toHaveLength(41);
});

test("FLAC with bytes that look like a frame in front of the last one has its whole length", async () => {
  const frames = Array.from({ length: 41 }, (_, index) => flacFrame(index, 4096));
  const lookalike = flacFrame(9000, 4096);
  const bytes = concat(flacHead({ rateHz: 44_100 }), ...frames.slice(0, 40), lookalike, frames[40]!);
  const demuxer = await openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget());
  expect(demuxer.info.lengthMs).toBe(Math.floor((1000 * 41 * 4096) / 44_100));
});
