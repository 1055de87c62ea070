import { expect, test } from "vitest";
import { fitTone, makeTone } from "../../../../lab/listen/tone.ts";
import { ByteBudget } from "../../../../src/lib/byte-budget.ts";
import { StereoFifo } from "../../../../src/lib/stereo-fifo.ts";
import { ChangeLimit } from "../../../../src/media/decode/change-limit.ts";
import { speakersOf, stereoMixMatrix } from "../../../../src/media/decode/down-mix.ts";
import { StereoConverter } from "../../../../src/media/decode/stereo-converter.ts";
import type { AudioCodec } from "../../../../src/media/format/packet.ts";

function createConverter(codec: AudioCodec): StereoConverter {
  const memory = new ByteBudget({ owner: "the track", limitBytes: 1_000_000 });
  return new StereoConverter({ codec, memory, limit: new ChangeLimit() });
}

function readAll(fifo: StereoFifo) {
  const left = new Float32Array(fifo.lengthSamples);
  const right = new Float32Array(fifo.lengthSamples);
  fifo.readInto(left, right, left.length);
  return { left, right };
}

/** The output of each single channel, with the others silent, at 1. */
function sharesOf(codec: AudioCodec, channelCount: number): [number, number][] {
  return Array.from({ length: channelCount }, (_, active) => {
    const fifo = new StereoFifo();
    const channels = Array.from({ length: channelCount }, (_, index) =>
      new Float32Array(4).fill(index === active ? 1 : 0),
    );
    createConverter(codec).push({ channels, lengthSamples: 4, sampleRateHz: 48_000 }, fifo);
    const { left, right } = readAll(fifo);
    return [left[3]!, right[3]!];
  });
}

test("48 kHz stereo passes bit for bit, only its valid samples", () => {
  const fifo = new StereoFifo();
  const left = Float32Array.from([1, 2, 3, 99]);
  const right = Float32Array.from([4, 5, 6, 99]);
  createConverter("flac").push({ channels: [left, right], lengthSamples: 3, sampleRateHz: 48_000 }, fifo);
  expect(readAll(fifo)).toEqual({ left: left.subarray(0, 3), right: right.subarray(0, 3) });
});

test("mono is output on both sides at full level", () => {
  expect(sharesOf("mp3", 1)).toEqual([[1, 1]]);
});

test("5.1 is mixed by ITU-R BS.775 without its low-frequency channel, in each codec's order", () => {
  const scale = 1 / (1 + Math.SQRT1_2 + Math.SQRT1_2);
  const side = Math.SQRT1_2 * scale;
  const near = ([left, right]: [number, number]) => [left.toFixed(5), right.toFixed(5)];
  const wave: [number, number][] = [
    [scale, 0],
    [0, scale],
    [side, side],
    [0, 0],
    [side, 0],
    [0, side],
  ];
  const vorbis: [number, number][] = [
    [scale, 0],
    [side, side],
    [0, scale],
    [side, 0],
    [0, side],
    [0, 0],
  ];
  for (const codec of ["flac", "pcm", "aac"] as const) expect(sharesOf(codec, 6).map(near)).toEqual(wave.map(near));
  for (const codec of ["opus", "vorbis"] as const) expect(sharesOf(codec, 6).map(near)).toEqual(vorbis.map(near));
});

test("full scale on every channel cannot clip, for any codec and number of channels", () => {
  for (const codec of ["flac", "vorbis", "aac"] as const) {
    for (let channelCount = 3; channelCount <= 24; channelCount++) {
      const { left, right } = stereoMixMatrix(speakersOf(codec, channelCount));
      for (const side of [left, right]) {
        expect(side.length).toBe(channelCount);
        expect(side.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 5);
        expect(side.every((share) => share >= 0)).toBe(true);
      }
    }
  }
});

test("a stream may change rate and channels half way without losing a sample", () => {
  const converter = createConverter("aac");
  const fifo = new StereoFifo();
  const parts = [
    { sampleRateHz: 44_100, channelCount: 2 },
    { sampleRateHz: 22_050, channelCount: 1 },
    { sampleRateHz: 48_000, channelCount: 6 },
    { sampleRateHz: 44_100, channelCount: 2 },
  ];
  for (const { sampleRateHz, channelCount } of parts) {
    const tone = makeTone({ frequencyHz: 500, sampleRateHz, lengthSamples: sampleRateHz / 10 });
    for (let start = 0; start < tone.length; start += 1024) {
      const piece = tone.subarray(start, start + 1024);
      const channels = Array.from({ length: channelCount }, () => piece);
      converter.push({ channels, lengthSamples: piece.length, sampleRateHz }, fifo);
    }
  }
  converter.flush(fifo);
  expect(fifo.lengthSamples).toBe(4 * 4800);
  const { left } = readAll(fifo);
  // 500 Hz fits 50 times into each part, so the phase runs on across them.
  for (let part = 0; part < 4; part++) {
    const fit = fitTone(left.subarray(part * 4800 + 480, part * 4800 + 4320), 500, 48_000);
    expect(fit.amplitude).toBeCloseTo(0.5, 3);
    expect(Math.cos(fit.phase)).toBeGreaterThan(0.9999);
  }
});

test("the stereo converter refuses an absurd rate and ignores an empty block", () => {
  const converter = createConverter("pcm");
  const fifo = new StereoFifo();
  converter.push({ channels: [], lengthSamples: 0, sampleRateHz: 1 }, fifo);
  const channels = [new Float32Array(10)];
  expect(() => converter.push({ channels, lengthSamples: 10, sampleRateHz: 1 }, fifo)).toThrow(
    expect.objectContaining({ code: "media-unsupported-codec" }),
  );
});
