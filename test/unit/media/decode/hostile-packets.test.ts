// Packets and headers that demand more time or memory than their audio justifies.

import { describe, expect, it, test } from "vitest";
import { concat, crc } from "../../../../lab/media-files/bytes.ts";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import type { PcmBlock } from "../../../../src/media/decode/decoder.ts";
import { isVorbisSetupBounded } from "../../../../src/media/decode/vorbis-setup.ts";
import { parseFlacFrameHeader } from "../../../../src/media/demux/flac-frame-header.ts";
import type { AudioStream } from "../../../../src/media/format/packet.ts";
import { TimeSlicer } from "../../../../src/media/quota/time-slicer.ts";
import { readCodecFixture } from "../../../support/codec-fixture.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { SCRIPTED_STREAM } from "../../../support/scripted-decoder.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

/** Bits, least significant first, as Vorbis has them. */
class BitWriter {
  readonly #bits: number[] = [];

  write(value: number, count: number): this {
    for (let bit = 0; bit < count; bit++) this.#bits.push(Math.floor(value / 2 ** bit) & 1);
    return this;
  }

  toBytes(): Uint8Array {
    const bytes = new Uint8Array(Math.ceil(this.#bits.length / 8));
    for (const [index, bit] of this.#bits.entries()) bytes[index >> 3]! |= bit << (index & 7);
    return bytes;
  }
}

interface Books {
  readonly count: number;
  /** A power of two. */
  readonly entries: number;
  readonly dimension?: number;
  readonly lookup?: number;
  readonly classCount?: number;
}

/** A set-up header whose books take few bytes: all entries of one have the same length, which is coded once. */
function vorbisSetup({ count, entries, dimension = 1, lookup = 0, classCount = 1 }: Books): Uint8Array {
  const bits = new BitWriter();
  for (const character of "\x05vorbis") bits.write(character.charCodeAt(0), 8);
  bits.write(count - 1, 8);
  for (let book = 0; book < count; book++) {
    bits.write(0x564342, 24).write(dimension, 16).write(entries, 24).write(1, 1);
    bits
      .write(Math.log2(entries) - 1, 5)
      .write(entries, 32 - Math.clz32(entries))
      .write(lookup, 4);
    if (lookup > 0)
      bits
        .write(0, 64)
        .write(0, 4)
        .write(0, 1 + (lookup === 2 ? entries * dimension : 1));
  }
  bits.write(0, 6).write(0, 16); // one time
  bits.write(0, 6).write(1, 16).write(0, 5).write(0, 2).write(4, 4); // one floor without partitions
  bits
    .write(0, 6)
    .write(0, 16 + 3 * 24)
    .write(classCount - 1, 6)
    .write(0, 8)
    .write(0, 4 * classCount); // one residue
  return bits.write(0, 64).toBytes();
}

describe("a Vorbis set-up header", () => {
  it.each(["vorbis", "vorbis6"])(
    "a Vorbis set-up header of a real stream (%s) is accepted, but only complete",
    (name) => {
      const description = readCodecFixture(name).stream.description!;
      const start = Buffer.from(description).lastIndexOf("\x05vorbis");
      expect(isVorbisSetupBounded(description.subarray(start))).toBe(true);
      expect(isVorbisSetupBounded(description.subarray(start, start + 2000))).toBe(false);
    },
  );

  it.each([
    ["a book of four million entries", { count: 1, entries: 2 ** 22 }],
    ["256 books of 4096 entries", { count: 256, entries: 4096 }],
    ["entries of many dimensions", { count: 1, entries: 1024, dimension: 60_000, lookup: 1 }],
    ["more classifications than allowed", { count: 1, entries: 1024, dimension: 50, classCount: 64 }],
  ])("a Vorbis set-up header with %s is refused", (_what, books) => {
    expect(isVorbisSetupBounded(vorbisSetup(books))).toBe(false);
  });

  it("a Vorbis set-up header of that form, but small, is accepted", () => {
    expect(isVorbisSetupBounded(vorbisSetup({ count: 4, entries: 256, dimension: 2, classCount: 4 }))).toBe(true);
  });
});

test("Vorbis of more than eight channels is refused", async () => {
  const { stream } = readCodecFixture("vorbis");
  const description = Uint8Array.from(stream.description!);
  description[Buffer.from(description).indexOf("\x01vorbis") + 11] = 255;
  await expect(createDecoder({ ...stream, description })).rejects.toMatchObject({ code: "media-unsupported-codec" });
});

test("a Vorbis packet far larger than its audio counts as damage", async () => {
  const { stream, packets } = readCodecFixture("vorbis");
  const decoder = await createDecoder(stream);
  for (const packet of packets.slice(0, 3)) decoder.decode(packet);
  const padded = new Uint8Array(100_000);
  padded.set(packets[3]!);
  expect(decoder.decode(padded)).toMatchObject({ lengthSamples: 0 });
});

/** The bytes of a FLAC frame's header, with its checksum. */
function withCrc8(bytes: readonly number[]): Uint8Array {
  return concat(Uint8Array.from(bytes), Uint8Array.of(crc(8, 0x07)(Uint8Array.from(bytes))));
}

test.each([
  [[0xff, 0xf8, 0xc9, 0x18, 0x00], 4096, 2],
  [[0xff, 0xf8, 0x19, 0x08, 0x00], 192, 1],
  [[0xff, 0xf8, 0x29, 0x78, 0x00], 576, 8],
  [[0xff, 0xf8, 0x69, 0xa8, 0x00, 0x0f], 16, 2],
  [[0xff, 0xf9, 0x79, 0x78, 0xc2, 0x80, 0xff, 0xfe], 65_535, 8],
])("the FLAC frame %j holds %d samples of %d channels", (bytes, blockSamples, channelCount) => {
  expect(parseFlacFrameHeader(withCrc8(bytes))).toMatchObject({ blockSamples, channelCount });
});

test.each([
  [[0xff, 0xf8, 0x09, 0x18, 0]],
  [[0xff, 0xf8, 0xc9, 0xb8, 0]],
  [[0xff, 0xf8, 0xc9, 0x16, 0]],
  [[0xff, 0xe8, 0xc9, 0x18, 0]],
  [[0xff]],
])("%j is no FLAC frame", (bytes) => {
  expect(parseFlacFrameHeader(withCrc8(bytes))).toBeUndefined();
});

test("the fixtures' FLAC frames declare their contents", async () => {
  const { stream, packets } = readCodecFixture("flac");
  const decoder = await createDecoder(stream);
  for (const packet of packets) {
    const block = decoder.decode(packet) as PcmBlock; // it answers at once
    expect(parseFlacFrameHeader(packet)?.blockSamples).toBe(block.lengthSamples);
  }
});

test("a FLAC frame of 65,535 samples in eight channels is refused before it is decoded", async () => {
  const decoder = await createDecoder(readCodecFixture("flac").stream);
  const frame = new Uint8Array(100_000);
  frame.set(withCrc8([0xff, 0xf9, 0x79, 0x78, 0xc2, 0x80, 0xff, 0xfe]));
  expect(() => decoder.decode(frame)).toThrow(expect.objectContaining({ code: "media-unsupported-codec" }));
});

test("a megabyte behind the header of a small FLAC frame is damage", async () => {
  const { stream, packets } = readCodecFixture("flac");
  const decoder = await createDecoder(stream);
  const padded = new Uint8Array(2 ** 20);
  padded.set(packets[0]!);
  expect(decoder.decode(padded)).toMatchObject({ lengthSamples: 0 });
  expect(decoder.decode(packets[0]!)).toMatchObject({ lengthSamples: 4608 });
});

test("a packet full of MP3 frames yields a few of them, and none of the rest appears later", async () => {
  const { stream, packets } = readCodecFixture("mp3");
  const decoder = await createDecoder(stream, { isComplete: true });
  const frame = packets[2]!;
  const many = new Uint8Array(frame.length * 100);
  for (let index = 0; index < 100; index++) many.set(frame, index * frame.length);
  const first = (decoder.decode(many) as PcmBlock).lengthSamples;
  expect(first).toBeLessThanOrEqual(8 * 1152);
  const next: number[] = [];
  for (let index = 0; index < 5; index++) next.push((decoder.decode(frame) as PcmBlock).lengthSamples);
  expect(Math.max(...next)).toBeLessThanOrEqual(1152);
});

function opusHead(channelCount: number, streamCount: number): AudioStream {
  const head = Uint8Array.from([
    ...Buffer.from("OpusHead"),
    ...[1, channelCount, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 1, streamCount, 0],
    ...Array.from({ length: channelCount }, () => 0),
  ]);
  return { ...SCRIPTED_STREAM, codec: "opus", channelCount, description: head };
}

test.each([
  [255, 255],
  [9, 1],
  [2, 200],
])("Opus of %d channels in %d streams is refused", async (channelCount, streamCount) => {
  const attempt = createDecoder(opusHead(channelCount, streamCount));
  await expect(attempt).rejects.toMatchObject({ code: "media-unsupported-codec" });
});

test.each(["mp3", "flac", "vorbis", "alac", "aac"])(
  "the memory of a decoder (%s) is counted until it is closed",
  async (name) => {
    const { stream } = readCodecFixture(name);
    const budget = createTrackBudget();
    const { memory } = budget;
    const decoder = await createDecoder(stream, { budget });
    expect(memory.usedBytes).toBeGreaterThan(100_000);
    decoder.close();
    decoder.close();
    expect(memory.usedBytes).toBe(0);
  },
);

test("a decoder without enough memory is not created, and one that fails in creation retains none", async () => {
  const { stream } = readCodecFixture("vorbis");
  const poor = createTrackBudget({ memoryBytes: 1000 });
  await expect(createDecoder(stream, { budget: poor })).rejects.toMatchObject({ code: "memory-exhausted" });
  const budget = createTrackBudget();
  const attempt = createDecoder({ ...stream, description: Uint8Array.of(1) }, { budget });
  await expect(attempt).rejects.toMatchObject({ code: "media-unsupported-codec" });
  expect(budget.memory.usedBytes).toBe(0);
});

test("slow ALAC packets are decoded in time slices, to the same audio", async () => {
  const { stream, packets } = readCodecFixture("alac6");
  // Every clock check takes a millisecond.
  const clock = new FakeClock();
  const now = clock.now.bind(clock);
  clock.now = () => {
    clock.stall(1);
    return now();
  };
  const slicer = new TimeSlicer();
  let sliceCount = 0;
  const next = slicer.next.bind(slicer);
  slicer.next = () => {
    sliceCount += 1;
    return next();
  };
  const here = await createDecoder(stream);
  const slow = await createDecoder(stream, { budget: createTrackBudget({ clock, slicer }) });
  for (const packet of packets) expect(await slow.decode(packet)).toEqual(await here.decode(packet));
  expect(sliceCount).toBeGreaterThan(10 * packets.length);
});
