import { expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import type { AudioStream } from "../../../../src/media/format/packet.ts";
import { type Coding, type FlacSpec, flacFileHead, flacFrames } from "../../../support/flac-writer.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const BLOCK_SAMPLES = 576;
const VERBATIM: Coding = { kind: "verbatim" };

/** Two blocks of a tone with noise, up to full scale. */
function noisyTone(bitsPerSample: number, seed: number): number[] {
  const random = seededRandom(seed);
  const peak = 2 ** (bitsPerSample - 1);
  return Array.from({ length: 2 * BLOCK_SAMPLES }, (_, at) => {
    if (at === 7) return -peak;
    if (at === 8) return peak - 1;
    return Math.round((peak - 1) * (0.6 * Math.sin(at / 9) + 0.3 * (random() - 0.5)));
  });
}

function specOf(bitsPerSample: number, coding: Coding, more: Partial<FlacSpec> = {}): FlacSpec {
  return { bitsPerSample, rateHz: 44_100, blockSamples: BLOCK_SAMPLES, coding, ...more };
}

/** The decoded audio in the units of its depth. */
async function decode(channels: readonly (readonly number[])[], spec: FlacSpec, budget = createTrackBudget()) {
  const stream: AudioStream = {
    codec: "flac",
    sampleRateHz: spec.rateHz,
    channelCount: channels.length,
    description: flacFileHead(spec, channels.length, channels[0]!.length),
    pcm: undefined,
  };
  const decoder = await createDecoder(stream, { budget });
  const decoded: number[][] = channels.map(() => []);
  for (const frame of flacFrames(channels, spec)) {
    const block = await decoder.decode(frame);
    expect(block.sampleRateHz).toBe(block.lengthSamples === 0 ? 48_000 : spec.rateHz);
    for (const [index, samples] of block.channels.entries()) {
      decoded[index]!.push(...Array.from(samples.subarray(0, block.lengthSamples), (value) => value));
    }
  }
  decoder.close();
  return decoded.map((samples) => samples.map((value) => value * 2 ** (spec.bitsPerSample - 1)));
}

function expectSame(actual: readonly (readonly number[])[], wanted: readonly (readonly number[])[], error: number) {
  expect(actual.map(({ length }) => length)).toEqual(wanted.map(({ length }) => length));
  for (const [index, samples] of wanted.entries()) {
    const worst = samples.reduce((most, value, at) => Math.max(most, Math.abs(value - actual[index]![at]!)), 0);
    expect(worst).toBeLessThanOrEqual(error);
  }
}

/** The library divides by the highest positive value, and a float has 24 bits. */
function toleranceOf(bitsPerSample: number): number {
  return Math.max([8, 16, 24, 32].includes(bitsPerSample) ? 1.01 : 0, 2 ** (bitsPerSample - 24));
}

test.each(Array.from({ length: 29 }, (_, index) => index + 4))(
  "FLAC of %d bits decodes at full level",
  async (depth) => {
    for (const coding of [VERBATIM, { kind: "fixed", order: 2 }] as const) {
      const channels = [noisyTone(depth, 1), noisyTone(depth, 2)];
      expectSame(await decode(channels, specOf(depth, coding)), channels, toleranceOf(depth));
    }
  },
);

test.each([
  [12, "leftSide"],
  [20, "sideRight"],
  [15, "middleSide"],
  [31, "middleSide"],
] as const)("FLAC of %d bits with its channels coded as %s decodes to both of them", async (depth, pair) => {
  for (const order of [0, 1, 3, 4]) {
    const channels = [noisyTone(depth, 1), noisyTone(depth, 2)];
    const spec = specOf(depth, { kind: "fixed", order }, { pair });
    expectSame(await decode(channels, spec), channels, toleranceOf(depth));
  }
});

test("FLAC of 20 bits with wasted bits decodes at full level", async () => {
  const channels = [noisyTone(17, 1).map((value) => value * 8)];
  for (const coding of [
    VERBATIM,
    { kind: "lpc", coefficients: [20_000, -9000, 800].map((c) => c / 2), shift: 13 },
  ] as const)
    expectSame(await decode(channels, specOf(20, coding, { wastedBits: 3 })), channels, 0);
});

test.each([16, 20, 24])("FLAC of %d bits whose predictions leave 32 bits is audible", async (depth) => {
  const coefficients = Array.from({ length: 32 }, (_, index) => (index % 2 === 0 ? 16_383 : -16_384));
  const channels = [noisyTone(depth, 1)];
  const spec = specOf(depth, { kind: "lpc", coefficients, shift: depth - 11 });
  expectSame(await decode(channels, spec), channels, toleranceOf(depth));
});

test("FLAC that takes long is decoded in time slices", async () => {
  let nowMs = 0;
  const clock = { ...createTrackBudget().clock, now: () => (nowMs += 0.4) };
  const channels = [noisyTone(20, 1), noisyTone(20, 2)];
  const spec = specOf(20, { kind: "lpc", coefficients: [1, 2, 3], shift: 3 });
  expectSame(await decode(channels, spec, createTrackBudget({ clock })), channels, 0);
});

test("a FLAC frame of 20 bits with a flipped bit is damage, not noise", async () => {
  const channels = [noisyTone(20, 1)];
  const spec = specOf(20, VERBATIM);
  const description = flacFileHead(spec, 1, BLOCK_SAMPLES);
  const decoder = await createDecoder({
    codec: "flac",
    sampleRateHz: 44_100,
    channelCount: 1,
    description,
    pcm: undefined,
  });
  const [frame, next] = flacFrames(channels, spec);
  frame![500]! ^= 4;
  expect((await decoder.decode(frame!)).lengthSamples).toBe(0);
  expect((await decoder.decode(next!)).lengthSamples).toBe(BLOCK_SAMPLES);
  decoder.close();
});
