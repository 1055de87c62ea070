import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { align, levelDb, signalToNoiseDb } from "../../../../lab/listen/compare.ts";
import { findClicks, findGaps } from "../../../../lab/listen/faults.ts";
import { decodeReceived, isBitExact } from "../../../../lab/listen/received.ts";
import { fitTone, makeTone, pitchCents } from "../../../../lab/listen/tone.ts";
import { readWav, writeWav } from "../../../../lab/listen/wav.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";
import { ENCODER_DELAY_SAMPLES } from "../../../../src/media/format/audio-format.ts";

/** Audio that never repeats: a few gliding tones, computed at any moment, also between samples. */
const musicAt = (time: number) =>
  0.2 * Math.sin(time * 0.03 + 4 * Math.sin(time * 0.0003)) +
  0.15 * Math.sin(time * 0.071 + 7 * Math.sin(time * 0.00021)) +
  0.1 * Math.sin(time * 0.2 + 20 * Math.sin(time * 0.00011));
const music = (length: number, { shift = 0, gain = 1 } = {}) =>
  Float32Array.from({ length }, (_, index) => gain * musicAt(index - shift));

test.each([0, 1, 312, 1000.5, -37.25, -9000.125])("a delay of %f samples is found", (shift) => {
  const alignment = align(music(40_000), music(40_000, { shift, gain: 0.5 }));
  expect(alignment?.delaySamples).toBeCloseTo(shift, 0);
  expect(Math.abs(alignment!.delaySamples - shift)).toBeLessThan(0.1);
  expect(alignment?.correlation).toBeGreaterThan(0.7);
});

test("noise of known level gives its signal-to-noise ratio, whatever delay and gain", () => {
  const random = seededRandom(5);
  const reference = music(30_000);
  const received = music(30_000, { shift: 432.3, gain: 0.7 });
  expect(signalToNoiseDb(reference, received)).toBeGreaterThan(60);
  const noise = received.map(() => (random() - 0.5) * 0.02);
  const expected = levelDb(received) - levelDb(noise);
  const noisy = received.map((value, index) => value + noise[index]!);
  expect(Math.abs(signalToNoiseDb(reference, noisy) - expected)).toBeLessThan(0.3);
});

test("identical audio has no measurable difference, silence and other audio have nothing in common", () => {
  const audio = music(20_000);
  expect(signalToNoiseDb(audio, audio)).toBeGreaterThan(120);
  expect(align(audio, new Float32Array(20_000))).toBeUndefined();
  const other = makeTone({ frequencyHz: 3000, sampleRateHz: 48_000, lengthSamples: 20_000 });
  expect(signalToNoiseDb(audio, other)).toBeLessThan(3);
});

test("a level is in decibels of full scale", () => {
  const tone = makeTone({ frequencyHz: 1000, sampleRateHz: 48_000, lengthSamples: 48_000, amplitude: 1 });
  expect(levelDb(tone)).toBeCloseTo(-3.01, 2);
});

test.each([-50, -3, 0, 0.5, 3, 20])("a tone %f cents off is measured to a tenth of a cent", (cents) => {
  const frequencyHz = 440 * 2 ** (cents / 1200);
  const tone = makeTone({ frequencyHz, sampleRateHz: 48_000, lengthSamples: 48_000, phase: 1 });
  expect(Math.abs(pitchCents(tone, 440, 48_000)! - cents)).toBeLessThan(0.1);
});

test("there is no pitch in silence", () => {
  expect(pitchCents(new Float32Array(48_000), 440, 48_000)).toBeUndefined();
});

test("an inserted click is found at its position, and music has none", () => {
  const audio = music(48_000);
  expect(findClicks(audio)).toEqual([]);
  const jump = audio.map((value, index) => (index >= 20_000 ? value + 0.1 : value));
  expect(findClicks(jump)).toEqual([20_000]);
  const spike = audio.map((value, index) => (index === 30_000 ? value + 0.2 : value));
  const [position, ...more] = findClicks(spike);
  expect(Math.abs(position! - 30_000)).toBeLessThan(3);
  expect(more).toEqual([]);
  const cut = Float32Array.from([...audio.subarray(0, 10_000), ...audio.subarray(10_500)]);
  expect(findClicks(cut).length).toBeLessThanOrEqual(1);
});

test("an inserted gap is found with its length; silence before and after the audio is none", () => {
  const audio = music(48_000);
  expect(findGaps(audio)).toEqual([]);
  const broken = audio.map((value, index) => (index < 500 || index >= 47_000 ? 0 : value)).fill(0, 9600, 9600 + 960);
  const [gap, ...more] = findGaps(broken);
  expect(more).toEqual([]);
  expect(Math.abs(gap!.startSample - 9600)).toBeLessThan(5);
  expect(Math.abs(gap!.lengthSamples - 960)).toBeLessThan(10);
});

test("bit-exact means an unbroken run of the sent packets", () => {
  const sent = [1, 2, 3, 4, 5].map((value) => new Uint8Array(10).fill(value));
  expect(isBitExact(sent, sent)).toBe(true);
  expect(isBitExact(sent, sent.slice(1, 4))).toBe(true);
  expect(isBitExact(sent, [sent[0]!, sent[2]!])).toBe(false);
  expect(isBitExact(sent, [])).toBe(false);
  expect(isBitExact(sent, [new Uint8Array(10).fill(2), new Uint8Array(9).fill(3)])).toBe(false);
});

test("decoded audio has the encoder's delay, and a lost packet is a gap", async () => {
  const encoder = await OpusFrameEncoder.create({ complexity: 10, bitrateBps: 256_000 });
  const audio = music(960 * 30);
  const packets = Array.from({ length: 30 }, (_, frame) => {
    const part = audio.subarray(frame * 960, frame * 960 + 960);
    return encoder.encode(part, part).slice();
  });
  encoder.close();
  const received = await decodeReceived(packets);
  expect(received.left.length).toBe(960 * 30);
  expect(Math.round(align(audio, received.left)!.delaySamples)).toBe(ENCODER_DELAY_SAMPLES);
  expect(signalToNoiseDb(audio, received.right)).toBeGreaterThan(25);
  const lossy = await decodeReceived(packets.map((packet, index) => (index === 12 ? undefined : packet)));
  expect(lossy.left.length).toBe(960 * 30);
  expect(findGaps(lossy.left).length).toBe(1);
});

test("a WAV file is read as it was written", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tonearm-"));
  const path = join(folder, "sound.wav");
  const left = music(1000);
  await writeWav(path, { left, right: left.map((value) => value * 8), sampleRateHz: 44_100 });
  const read = await readWav(path);
  await rm(folder, { recursive: true });
  expect(read.sampleRateHz).toBe(44_100);
  expect(read.left.every((value, index) => Math.abs(value - left[index]!) < 1 / 16_000)).toBe(true);
  expect(Math.max(...read.right)).toBeCloseTo(1, 3);
});

test("a fit finds amplitude, phase and the residual", () => {
  const tone = makeTone({ frequencyHz: 440, sampleRateHz: 48_000, lengthSamples: 9600, amplitude: 0.3, phase: 0.7 });
  const other = makeTone({ frequencyHz: 5000, sampleRateHz: 48_000, lengthSamples: 9600, amplitude: 0.001 });
  const fit = fitTone(
    tone.map((value, index) => value + other[index]! + 0.1),
    440,
    48_000,
  );
  expect(fit.amplitude).toBeCloseTo(0.3, 4);
  expect(fit.phase).toBeCloseTo(0.7, 3);
  expect(fit.residueDb).toBeCloseTo(-60, 1);
});
