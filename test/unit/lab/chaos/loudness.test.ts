// How loud a player is heard, with packets of a real encoder.

import { expect, test } from "vitest";
import { gainOf, Loudness, levelRatio } from "../../../../lab/chaos/loudness.ts";
import { makeTone } from "../../../../lab/listen/tone.ts";
import { OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";

const FRAMES = 50;

async function play(loudness: Loudness, guildId: string, amplitude: number): Promise<void> {
  const encoder = await OpusFrameEncoder.create({ complexity: 5, bitrateBps: 96_000 });
  const tone = makeTone({ frequencyHz: 400, sampleRateHz: 48_000, lengthSamples: 960, amplitude });
  for (let frame = 0; frame < FRAMES; frame++) loudness.hear(guildId, encoder.encode(tone, tone).slice());
  encoder.close();
}

test("the level is that of the last second, once there is one", async () => {
  const loudness = new Loudness();
  loudness.hear("1", Uint8Array.of(0xf8, 0xff, 0xfe));
  expect(await loudness.level("1")).toBeUndefined();
  await play(loudness, "1", 0.5);
  await play(loudness, "1", 0.2);
  await play(loudness, "2", 0.4);
  const levels = await loudness.levels(["1", "2", "3"]);
  expect([...levels.keys()]).toEqual(["1", "2"]);
  expect(levels.get("1")).toBeCloseTo(0.2 * Math.SQRT1_2, 2);
  expect(levels.get("2")).toBeCloseTo(0.4 * Math.SQRT1_2, 2);
});

test("the loudness is compared with what the change of the volume asks for", () => {
  const before = { level: 0.1, volume: 40 };
  const level = (0.1 * gainOf(80)) / gainOf(40);
  expect(levelRatio(before, { level, volume: 80 })).toBeCloseTo(1);
  expect(levelRatio(before, { level: 0.1, volume: 80 })).toBeLessThan(0.5);
  expect(levelRatio(before, { level: undefined, volume: 80 })).toBeUndefined();
});
