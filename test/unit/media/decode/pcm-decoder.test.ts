import { expect, test } from "vitest";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import type { PcmBlock } from "../../../../src/media/decode/decoder.ts";
import type { AudioStream, PcmLayout } from "../../../../src/media/format/packet.ts";

const stream = (pcm: PcmLayout | undefined, channelCount = 1): AudioStream => {
  return { codec: "pcm", sampleRateHz: 44_100, channelCount, description: undefined, pcm };
};

async function decode(pcm: PcmLayout, bytes: readonly number[], channelCount = 1): Promise<number[][]> {
  const decoder = await createDecoder(stream(pcm, channelCount));
  const block = (await decoder.decode(Uint8Array.from(bytes))) as PcmBlock;
  return block.channels.map((channel) => [...channel.subarray(0, block.lengthSamples)]);
}

const layout = (encoding: PcmLayout["encoding"], bitsPerSample: number, isBigEndian = false): PcmLayout => {
  return { encoding, bitsPerSample, isBigEndian };
};

test.each([
  ["unsigned 8", layout("unsigned", 8), [0, 64, 128, 255], [-1, -0.5, 0, 127 / 128]],
  ["signed 8", layout("signed", 8), [0x80, 0xc0, 0, 0x40], [-1, -0.5, 0, 0.5]],
  ["signed 16", layout("signed", 16), [0, 0x80, 0, 0xc0, 0, 0, 0, 0x40], [-1, -0.5, 0, 0.5]],
  ["signed 16 big-endian", layout("signed", 16, true), [0x80, 0, 0xc0, 0, 0, 0, 0x40, 0], [-1, -0.5, 0, 0.5]],
  ["unsigned 16", layout("unsigned", 16), [0, 0, 0, 0x80, 0, 0xc0], [-1, 0, 0.5]],
  ["signed 24", layout("signed", 24), [0, 0, 0x80, 0, 0, 0xc0, 1, 0, 0], [-1, -0.5, 2 ** -23]],
  ["signed 24 big-endian", layout("signed", 24, true), [0x80, 0, 0, 0xc0, 0, 0, 0, 0, 1], [-1, -0.5, 2 ** -23]],
  ["signed 32", layout("signed", 32), [0, 0, 0, 0x80, 0, 0, 0, 0x40], [-1, 0.5]],
  ["signed 32 big-endian", layout("signed", 32, true), [0x80, 0, 0, 0, 0x40, 0, 0, 0], [-1, 0.5]],
  ["signed 64", layout("signed", 64), [9, 9, 0, 0, 0, 0, 0, 0x80], [-1]],
  ["signed 64 big-endian", layout("signed", 64, true), [0x40, 0, 0, 0, 0, 0, 0, 9], [0.5]],
  ["float 32", layout("float", 32), [0, 0, 0x80, 0xbf, 0, 0, 0, 0x3f], [-1, 0.5]],
  ["float 32 big-endian", layout("float", 32, true), [0xbf, 0x80, 0, 0, 0x3f, 0, 0, 0], [-1, 0.5]],
  ["float 64", layout("float", 64), [0, 0, 0, 0, 0, 0, 0xe0, 0x3f], [0.5]],
  ["float 64 big-endian", layout("float", 64, true), [0x3f, 0xe0, 0, 0, 0, 0, 0, 0], [0.5]],
])("PCM samples decode from %s", async (_, pcm, bytes, expected) => {
  expect(await decode(pcm, bytes)).toEqual([expected]);
});

// Values of the tables in ITU-T G.711, on a 16-bit scale.
test.each([
  ["alaw", [0xd5, 0x55, 0xaa, 0x2a, 0x80], [8, -8, 32_256, -32_256, 5504]],
  ["mulaw", [0xff, 0x7f, 0x80, 0x00, 0xf0], [0, 0, 32_124, -32_124, 120]],
] as const)("%s agrees with G.711", async (encoding, bytes, expected) => {
  const [values] = await decode(layout(encoding, 8), bytes);
  expect(values?.map((value) => value * 2 ** 15 + 0)).toEqual([...expected]);
});

test("PCM channels are separated and an incomplete last sample is left out", async () => {
  const bytes = [0, 0x40, 0, 0xc0, 0, 0x20, 0, 0xe0, 7, 7, 7];
  expect(await decode(layout("signed", 16), bytes, 2)).toEqual([
    [0.5, 0.25],
    [-0.5, -0.25],
  ]);
});

test("NaN and absurdly large PCM samples become silence", async () => {
  const floats = new Uint8Array(Float32Array.of(Number.NaN, Number.POSITIVE_INFINITY, 1e30, -0.25).buffer);
  expect(await decode(layout("float", 32), [...floats])).toEqual([[0, 0, 0, -0.25]]);
});

test.each([
  ["no layout", undefined, 2],
  ["12 bits", layout("signed", 12), 2],
  ["no channels", layout("signed", 16), 0],
  ["a thousand channels", layout("signed", 16), 1000],
])("%s is refused", async (_, pcm, channelCount) => {
  await expect(createDecoder(stream(pcm, channelCount))).rejects.toMatchObject({ code: "media-unsupported-codec" });
});
