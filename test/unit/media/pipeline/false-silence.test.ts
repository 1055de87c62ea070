import { describe, expect, it } from "vitest";
import { FalseSilence } from "../../../../src/media/pipeline/false-silence.ts";

const SILENT = { channels: [new Float32Array(100)], lengthSamples: 100, sampleRateHz: 48_000 };
const AUDIO = Uint8Array.from({ length: 100 }, (_, index) => index % 16);
const UNIFORM = Uint8Array.from({ length: 100 }, (_, index) => index % 15);

describe("silence decoded from a lossless packet", () => {
  it.each([
    ["that holds audio is false", AUDIO, true],
    ["with fifteen different bytes is none", UNIFORM, false],
    ["of one bit for each sample is none", AUDIO.subarray(0, 13), false],
  ])("silence of a packet %s", (_name, packet, isFalse) => {
    expect(new FalseSilence("flac").has(SILENT, packet)).toBe(isFalse);
  });

  it("the 25th packet with false silence fails", () => {
    const silence = new FalseSilence("alac");
    for (let count = 1; count < 25; count++) silence.has(SILENT, AUDIO);
    expect(() => silence.has(SILENT, AUDIO)).toThrow("25 packets that hold audio");
  });

  it("nothing is checked after 25 packets of uncompressed silence", () => {
    const silence = new FalseSilence("alac");
    for (let count = 1; count < 25; count++) silence.has(SILENT, UNIFORM);
    expect(silence.has(SILENT, AUDIO)).toBe(true);
    expect(silence.has(SILENT, UNIFORM)).toBe(false);
    expect(silence.has(SILENT, AUDIO)).toBe(false);
  });
});
