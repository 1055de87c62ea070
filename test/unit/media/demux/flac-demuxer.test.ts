import { expect, test } from "vitest";
import { ascii, be, concat, le } from "../../../../lab/media-files/bytes.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { type FlacSpec, flacFile, flacFrames } from "../../../support/flac-writer.ts";
import { readMediaFixture } from "../../../support/media-fixture.ts";
import { MemoryByteSource, type MemoryByteSourceOptions } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const BLOCK_SAMPLES = 576;
const SPEC: FlacSpec = {
  bitsPerSample: 16,
  rateHz: 8000,
  blockSamples: BLOCK_SAMPLES,
  coding: { kind: "fixed", order: 1 },
};
const BLOCK_COUNT = 40;
const random = seededRandom(5);
const SAMPLES = Array.from({ length: BLOCK_SAMPLES * BLOCK_COUNT }, () => Math.floor(20_000 * (random() - 0.5)));
const FILE = flacFile([SAMPLES], SPEC);
/** Where each frame begins, and the end. */
const STARTS = [42];
for (const { length } of flacFrames([SAMPLES], SPEC)) STARTS.push(STARTS.at(-1)! + length);

async function open(bytes: Uint8Array, options: MemoryByteSourceOptions = {}) {
  return openDemuxer(new MemoryByteSource(bytes, options), {}, createTrackBudget());
}

/** The numbers of the blocks that are audible, each bit for bit at its time. */
async function audibleBlocks(bytes: Uint8Array, options?: MemoryByteSourceOptions): Promise<number[]> {
  const demuxer = await open(bytes, options);
  const decoder = await createDecoder(demuxer.stream);
  const blocks: number[] = [];
  for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next()) {
    const { channels, lengthSamples } = await decoder.decode(packet.data);
    if (lengthSamples === 0) continue;
    const start = Math.round((packet.timestampMs * SPEC.rateHz) / 1000);
    const isRight = channels[0]!.subarray(0, lengthSamples).every((value, at) => {
      return Math.abs(value * 32_767 - SAMPLES[start + at]!) < 1.01;
    });
    expect(isRight).toBe(true);
    blocks.push(start / BLOCK_SAMPLES);
  }
  decoder.close();
  return blocks;
}

function damaged(start: number, end: number, fill: (at: number) => number): Uint8Array {
  return FILE.map((byte, at) => (at >= start && at < end ? fill(at) : byte));
}

function allBlocksBut(...lost: readonly number[]): number[] {
  return Array.from({ length: BLOCK_COUNT }, (_, index) => index).filter((index) => !lost.includes(index));
}

const noise = () => Math.floor(random() * 256);

test.each([
  ["a header", STARTS[7]!, STARTS[7]! + 5, [7]],
  ["two headers far apart", STARTS[7]!, STARTS[9]! + 5, [7, 8, 9]],
  ["the first header", STARTS[0]!, STARTS[0]! + 5, [0]],
  ["the last header", STARTS[39]!, STARTS[39]! + 5, [39]],
  ["the middle of a frame", STARTS[7]! + 100, STARTS[7]! + 110, [7]],
  ["the end of a frame and the next header", STARTS[7]! - 5, STARTS[7]! + 5, [6, 7]],
  ["most of the file", STARTS[3]! + 9, STARTS[37]! + 9, Array.from({ length: 35 }, (_, index) => index + 3)],
] as const)("FLAC with damage to %s loses only the frames that it touches", async (_, start, end, lost) => {
  for (const fill of [noise, () => 0]) {
    for (const options of [{}, { isRandomAccess: false, isSizeKnown: false }]) {
      expect(await audibleBlocks(damaged(start, end, fill), options)).toEqual(allBlocksBut(...lost));
    }
  }
});

test("FLAC that lacks bytes in the middle loses only the frames that are not whole", async () => {
  const bytes = concat(FILE.subarray(0, STARTS[7]! + 50), FILE.subarray(STARTS[9]! + 50));
  expect(await audibleBlocks(bytes)).toEqual(allBlocksBut(7, 8, 9));
});

test.each([
  ["an old tag", concat(ascii("TAG"), new Uint8Array(125))],
  ["an APE tag", concat(ascii("APETAGEX"), new Uint8Array(500))],
  ["random bytes", Uint8Array.from({ length: 5000 }, noise)],
])("the last frame of FLAC is audible before %s", async (_, rest) => {
  expect(await audibleBlocks(concat(FILE, rest))).toEqual(allBlocksBut());
});

test("FLAC that is cut off plays up to its last whole frame", async () => {
  expect(await audibleBlocks(FILE.subarray(0, STARTS[39]! + 100))).toEqual(allBlocksBut(39));
});

test("damage to a header of FLAC that ffmpeg made loses one block", async () => {
  const bytes = readMediaFixture("small.flac").slice();
  const demuxer = await open(bytes);
  const packets: Uint8Array[] = [];
  for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next())
    packets.push(packet.data);
  const at = Buffer.from(bytes).indexOf(packets[10]!);
  bytes.fill(0, at, at + 6);
  const again = await open(bytes);
  const decoder = await createDecoder(again.stream);
  let blockCount = 0;
  for (let packet = await again.next(); packet !== undefined; packet = await again.next())
    if ((await decoder.decode(packet.data)).lengthSamples > 0) blockCount++;
  decoder.close();
  expect(blockCount).toBe(packets.length - 1);
});

/** A comment block whose size field says `lessBytes` less than there is. */
function withComments(lessBytes: number): Uint8Array {
  const text = ascii("TITLE=A title of some length");
  const comments = concat(le(0, 4), le(1, 4), le(text.length, 4), text);
  const block = concat(Uint8Array.of(4), be(comments.length - lessBytes, 3), comments);
  const padding = concat(Uint8Array.of(0x81), be(20, 3), new Uint8Array(20));
  const head = FILE.slice(0, 42);
  head[4] = 0;
  return concat(head, block, padding, FILE.subarray(42));
}

test.each([0, 4, 20])("FLAC whose comment block is %d bytes longer than it says plays in full", async (lessBytes) => {
  const bytes = withComments(lessBytes);
  expect((await open(bytes)).info.title).toMatch(/^A title/);
  expect(await audibleBlocks(bytes)).toEqual(allBlocksBut());
});

test("FLAC without a total of samples has the length of its frames, and seeks", async () => {
  for (const tail of [new Uint8Array(0), concat(ascii("TAG"), new Uint8Array(125))]) {
    const bytes = concat(flacFile([SAMPLES], { ...SPEC, totalSamples: 0 }), tail);
    const demuxer = await open(bytes);
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([(BLOCK_COUNT * BLOCK_SAMPLES) / 8, true]);
    await demuxer.seek(2000);
    expect((await demuxer.next())!.timestampMs).toBe(27 * 72);
  }
});

test("FLAC of one frame without a total of samples has its length", async () => {
  const bytes = flacFile([SAMPLES.slice(0, 400)], { ...SPEC, totalSamples: 0 });
  expect((await open(bytes)).info.lengthMs).toBe(50);
});

test("FLAC without a total of samples stays a stream where its end is out of reach", async () => {
  const bytes = flacFile([SAMPLES], { ...SPEC, totalSamples: 0 });
  expect((await open(bytes, { isRandomAccess: false, isSizeKnown: false })).info.lengthMs).toBeUndefined();
});
