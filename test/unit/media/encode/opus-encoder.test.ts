import { createDecoder } from "libopus-wasm";
import { expect, test } from "vitest";
import { decodeHeard } from "../../../../lab/listen/heard.ts";
import { fitTone, makeTone } from "../../../../lab/listen/tone.ts";
import { OpusEncoderPool, OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";
import { ENCODER_DELAY_SAMPLES } from "../../../../src/media/format/audio-format.ts";
import { loadLibopus } from "../../../../src/media/opus/libopus.ts";
import { isPassthroughPacket } from "../../../../src/media/opus/opus-packet.ts";

const OPTIONS = { complexity: 10, bitrateBps: 128_000 };
const left = makeTone({ frequencyHz: 440, sampleRateHz: 48_000, lengthSamples: 48_000 });
const right = makeTone({ frequencyHz: 1000, sampleRateHz: 48_000, lengthSamples: 48_000, amplitude: 0.25 });

function encodeAll(encoder: OpusFrameEncoder): Uint8Array[] {
  return Array.from({ length: 50 }, (_, frame) => {
    const range = [frame * 960, frame * 960 + 960] as const;
    return encoder.encode(left.subarray(...range), right.subarray(...range)).slice();
  });
}

test("what is encoded is heard by an independent decoder: both channels, level, pitch, delay", async () => {
  const encoder = await OpusFrameEncoder.create(OPTIONS);
  const packets = encodeAll(encoder);
  encoder.close();
  expect(packets.every(isPassthroughPacket)).toBe(true);
  const decoder = await createDecoder({ channels: 2 });
  const pcm = packets.flatMap((packet) => [...decoder.decodeFloat(packet)]);
  decoder.free();
  const heard = (channel: number) => Float32Array.from({ length: 38_400 }, (_, i) => pcm[(4800 + i) * 2 + channel]!);
  const fits = [fitTone(heard(0), 440, 48_000), fitTone(heard(1), 1000, 48_000)] as const;
  expect(fits[0].amplitude).toBeCloseTo(0.5, 2);
  expect(fits[1].amplitude).toBeCloseTo(0.25, 2);
  const expectedPhase = (2 * Math.PI * 440 * (4800 - ENCODER_DELAY_SAMPLES)) / 48_000;
  expect(Math.cos(fits[0].phase - expectedPhase)).toBeGreaterThan(0.999);
});

test("the bitrate is about what was asked for", async () => {
  const encoder = await OpusFrameEncoder.create({ complexity: 5, bitrateBps: 64_000 });
  const noise = Float32Array.from({ length: 960 }, (_, index) => Math.sin(index * index) * 0.3);
  let size = 0;
  for (let frame = 0; frame < 100; frame++) size += encoder.encode(noise, noise).length;
  expect(size * 8).toBeGreaterThan(64_000);
  expect(size * 8).toBeLessThan(2 * 64_000 * 1.3);
  encoder.close();
});

test("a packet stays valid through the next encode and not longer", async () => {
  const encoder = await OpusFrameEncoder.create(OPTIONS);
  const first = encoder.encode(left.subarray(0, 960), right.subarray(0, 960));
  const copy = first.slice();
  const second = encoder.encode(left.subarray(960, 1920), right.subarray(960, 1920));
  expect(first).toEqual(copy);
  expect(second.buffer).not.toBe(first.buffer);
  const third = encoder.encode(left.subarray(1920, 2880), right.subarray(1920, 2880));
  expect(third.buffer).toBe(first.buffer);
  encoder.close();
});

test("reset starts a new stream: the same sound gives the same packets", async () => {
  const encoder = await OpusFrameEncoder.create(OPTIONS);
  const before = encodeAll(encoder);
  expect(encodeAll(encoder)).not.toEqual(before);
  encoder.reset();
  expect(encodeAll(encoder)).toEqual(before);
  encoder.close();
  encoder.close();
});

test("who joins at an independent packet hears its sound at full level at once, and only there", async () => {
  const levels: number[] = [];
  for (const isIndependent of [true, false]) {
    const encoder = await OpusFrameEncoder.create(OPTIONS);
    const before = encodeAll(encoder);
    if (isIndependent) encoder.makeNextIndependent();
    const { left } = await decodeHeard(encodeAll(encoder));
    levels.push(fitTone(left.subarray(480, 960), 440, 48_000).amplitude);
    expect(before).toHaveLength(50);
    encoder.close();
  }
  expect(levels[0]).toBeCloseTo(0.5, 1);
  expect(levels[1]).toBeLessThan(0.4);
});

test("sound that is no number does not spoil what follows", async () => {
  const encoder = await OpusFrameEncoder.create(OPTIONS);
  const broken = new Float32Array(960).fill(Number.NaN);
  for (let frame = 0; frame < 3; frame++) encoder.encode(broken, broken);
  const decoder = await createDecoder({ channels: 2 });
  const pcm = encodeAll(encoder).flatMap((packet) => [...decoder.decodeFloat(packet)]);
  expect(pcm.every(Number.isFinite)).toBe(true);
  const heard = Float32Array.from({ length: 9600 }, (_, index) => pcm[(24_000 + index) * 2]!);
  expect(fitTone(heard, 440, 48_000).amplitude).toBeCloseTo(0.5, 2);
  decoder.free();
  encoder.close();
});

test("the pool reuses encoders as new, keeps a bounded number, and frees them when closed", async () => {
  const pool = new OpusEncoderPool(await loadLibopus(), { ...OPTIONS, idleCountMax: 2 });
  const encoders = [pool.acquire(), pool.acquire(), pool.acquire()];
  const [first] = encoders;
  const packets = encodeAll(first!);
  for (const encoder of encoders) pool.release(encoder);
  expect(pool.idleCount).toBe(2);
  const again = pool.acquire();
  expect(encoders).toContain(again);
  expect(encodeAll(again)).toEqual(packets);
  pool.close();
  expect(pool.idleCount).toBe(0);
  pool.release(again);
  expect(pool.idleCount).toBe(0);
});
