import { OpusEncoder } from "@tonearm/opus-encoder";
import { expect, test } from "vitest";
import { fitTone, makeTone } from "../../../lab/listen/tone.ts";
import { ExactDecoder } from "../../../opus-encoder/lab/exact-decoder.ts";
import { TonearmFrameEncoder } from "../../../src/media/encode/tonearm-encoder.ts";

const SECONDS = 2;
const tone = (frequencyHz: number, amplitude: number): Float32Array =>
  makeTone({ frequencyHz, amplitude, sampleRateHz: 48_000, lengthSamples: SECONDS * 48_000 });

/** The left side of decoded audio that was encoded on both sides, after its first second. */
async function decodedOf(audio: Float32Array): Promise<Float32Array> {
  const encoder = new TonearmFrameEncoder(OpusEncoder.create({ bitrateBps: 64_000 }));
  const decoder = await ExactDecoder.create(2);
  const decoded = new Float32Array(audio.length);
  for (let from = 0; from < audio.length; from += 960) {
    const frame = audio.subarray(from, from + 960);
    const pcm = decoder.decode(encoder.encode(frame, frame));
    for (let sample = 0; sample < 960; sample++) decoded[from + sample] = pcm[2 * sample]!;
  }
  encoder.close();
  decoder.close();
  return decoded.subarray(48_000);
}

test("an offset twice as loud as the music takes nothing from it, and is removed", async () => {
  const decoded = await decodedOf(tone(440, 0.2).map((value) => value + 0.4));
  const mean = decoded.reduce((sum, value) => sum + value, 0) / decoded.length;
  expect(Math.abs(mean)).toBeLessThan(0.001);
  expect(fitTone(decoded, 440, 48_000).amplitude).toBeCloseTo(0.2, 2);
});

test("soft tones above a loud low one stand clear of noise", async () => {
  const [low, ...soft] = [tone(90, 0.6), tone(700, 0.0006), tone(1500, 0.0006)] as const;
  const decoded = await decodedOf(low.map((value, at) => soft.reduce((sum, other) => sum + other[at]!, value)));
  const between = Array.from({ length: 120 }, (_, step) => 500 + 10 * step).filter(
    (hertz) => Math.abs(hertz - 700) > 40 && Math.abs(hertz - 1500) > 40,
  );
  const power = between.reduce((sum, hertz) => sum + fitTone(decoded, hertz, 48_000).amplitude ** 2, 0);
  expect(Math.sqrt(power / between.length)).toBeLessThan(0.000_018);
});
