import { OpusEncoder } from "@tonearm/opus-encoder";
import { createDecoder } from "libopus-wasm";
import { expect, test, vi } from "vitest";
import { decodeReceived } from "../../../../lab/listen/received.ts";
import { fitTone } from "../../../../lab/listen/tone.ts";
import { EncoderPool, type FrameEncoder } from "../../../../src/media/encode/frame-encoder.ts";
import { OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";
import { TonearmFrameEncoder } from "../../../../src/media/encode/tonearm-encoder.ts";
import { FRAMES_AHEAD_MAX } from "../../../../src/media/format/audio-format.ts";
import { loadLibopus, OPUS_ENCODER_BYTES } from "../../../../src/media/opus/libopus.ts";
import { isPassthroughPacket } from "../../../../src/media/opus/opus-packet.ts";
import { expectTwoTones, LEFT_TONE, RIGHT_TONE } from "../../../support/two-tones.ts";

const OPTIONS = { complexity: 10, bitrateBps: 128_000 };

function encodeAll(encoder: FrameEncoder): Uint8Array[] {
  return Array.from({ length: 50 }, (_, frame) => {
    const range = [frame * 960, frame * 960 + 960] as const;
    return encoder.encode(LEFT_TONE.subarray(...range), RIGHT_TONE.subarray(...range)).slice();
  });
}

test("an independent decoder decodes libopus packets with both channels, level, pitch and delay", async () => {
  const encoder = await OpusFrameEncoder.create(OPTIONS);
  const packets = encodeAll(encoder);
  encoder.close();
  expect(packets.every(isPassthroughPacket)).toBe(true);
  const decoder = await createDecoder({ channels: 2 });
  const pcm = packets.flatMap((packet) => [...decoder.decodeFloat(packet)]);
  decoder.free();
  expectTwoTones(pcm);
});

test("the libopus bitrate is about the requested one", async () => {
  const encoder = await OpusFrameEncoder.create({ complexity: 5, bitrateBps: 64_000 });
  const noise = Float32Array.from({ length: 960 }, (_, index) => Math.sin(index * index) * 0.3);
  let size = 0;
  for (let frame = 0; frame < 100; frame++) size += encoder.encode(noise, noise).length;
  expect(size * 8).toBeGreaterThan(64_000);
  expect(size * 8).toBeLessThan(2 * 64_000 * 1.3);
  encoder.close();
});

test("a libopus packet stays valid through the next encode and not longer", async () => {
  const encoder = await OpusFrameEncoder.create(OPTIONS);
  const first = encoder.encode(LEFT_TONE.subarray(0, 960), RIGHT_TONE.subarray(0, 960));
  const copy = first.slice();
  const second = encoder.encode(LEFT_TONE.subarray(960, 1920), RIGHT_TONE.subarray(960, 1920));
  expect(first).toEqual(copy);
  expect(second.buffer).not.toBe(first.buffer);
  const third = encoder.encode(LEFT_TONE.subarray(1920, 2880), RIGHT_TONE.subarray(1920, 2880));
  expect(third.buffer).toBe(first.buffer);
  encoder.close();
});

test("a reset starts a new stream: the same audio gives the same packets", async () => {
  const encoder = await OpusFrameEncoder.create(OPTIONS);
  const before = encodeAll(encoder);
  expect(encodeAll(encoder)).not.toEqual(before);
  encoder.reset();
  expect(encodeAll(encoder)).toEqual(before);
  encoder.close();
  encoder.close();
});

test("a listener that joins at an independent packet receives full level at once, and only there", async () => {
  const levels: number[] = [];
  for (const isIndependent of [true, false]) {
    const encoder = await OpusFrameEncoder.create(OPTIONS);
    const before = encodeAll(encoder);
    if (isIndependent) encoder.makeNextIndependent();
    const { left } = await decodeReceived(encodeAll(encoder));
    levels.push(fitTone(left.subarray(480, 960), 440, 48_000).amplitude);
    expect(before).toHaveLength(50);
    encoder.close();
  }
  expect(levels[0]).toBeCloseTo(0.5, 1);
  expect(levels[1]).toBeLessThan(0.4);
});

test("NaN samples do not affect the audio after them", async () => {
  const encoder = await OpusFrameEncoder.create(OPTIONS);
  const broken = new Float32Array(960).fill(Number.NaN);
  for (let frame = 0; frame < 3; frame++) encoder.encode(broken, broken);
  const decoder = await createDecoder({ channels: 2 });
  const pcm = encodeAll(encoder).flatMap((packet) => [...decoder.decodeFloat(packet)]);
  expect(pcm.every(Number.isFinite)).toBe(true);
  const decoded = Float32Array.from({ length: 9600 }, (_, index) => pcm[(24_000 + index) * 2]!);
  expect(fitTone(decoded, 440, 48_000).amplitude).toBeCloseTo(0.5, 2);
  decoder.free();
  encoder.close();
});

test("the pool reuses encoders as new, keeps a limited number, and frees them when closed", async () => {
  const opus = await loadLibopus();
  const pool = new EncoderPool(() => new OpusFrameEncoder(opus, OPTIONS), { idleCountMax: 2 });
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

test.each([
  ["libopus", () => OpusFrameEncoder.create(OPTIONS)],
  ["our own encoder", async () => new TonearmFrameEncoder(OpusEncoder.create(OPTIONS))],
])("rewound packets are made again bit for bit by %s", async (_name, create) => {
  const [encoder, control]: FrameEncoder[] = [await create(), await create()];
  if (encoder === undefined || control === undefined) throw new Error("two were made");
  const encode = (one: FrameEncoder, frame: number, side = LEFT_TONE) =>
    one.encode(side.subarray(frame * 960, frame * 960 + 960), side.subarray(frame * 960, frame * 960 + 960)).slice();
  const expected = Array.from({ length: 20 }, (_, frame) => encode(control, frame));
  const decoded: Uint8Array[] = [];
  for (let count = 1; decoded.length < 15; count = (count % FRAMES_AHEAD_MAX) + 1) {
    for (let frame = 0; frame < count; frame++) encode(encoder, decoded.length + frame, RIGHT_TONE);
    encoder.rewind(count);
    decoded.push(encode(encoder, decoded.length));
  }
  expect(decoded).toEqual(expected.slice(0, 15));
  // In two parts, with frames between them.
  for (const frame of [15, 16, 17, 18]) encode(encoder, frame);
  encoder.rewind(2);
  expect(encode(encoder, 17)).toEqual(expected[17]);
  encoder.rewind(3);
  expect([15, 16, 17, 18, 19].map((frame) => encode(encoder, frame))).toEqual(expected.slice(15));
  encoder.close();
  control.close();
});

test("a rewound independent packet is independent again, at the current complexity", async () => {
  const options = { ...OPTIONS };
  const [encoder, control] = [
    new OpusFrameEncoder(await loadLibopus(), options),
    await OpusFrameEncoder.create(OPTIONS),
  ];
  const frame = (one: OpusFrameEncoder) => one.encode(LEFT_TONE.subarray(0, 960), RIGHT_TONE.subarray(0, 960)).slice();
  for (const one of [encoder, control]) {
    frame(one);
    one.makeNextIndependent();
  }
  const expected = frame(control);
  expect(frame(encoder)).toEqual(expected);
  encoder.rewind(1);
  expect(frame(encoder)).toEqual(expected);
  options.complexity = 0;
  frame(encoder);
  encoder.rewind(2);
  expect(frame(encoder)).not.toEqual(expected);
  encoder.close();
  control.close();
});

test("an encoder that cannot rewind, as it is a different one, makes an independent packet instead", async () => {
  const opus = await loadLibopus();
  const [encoder, control] = [new OpusFrameEncoder(opus, OPTIONS), new OpusFrameEncoder(opus, OPTIONS)];
  encodeAll(encoder);
  encoder.reset();
  encoder.rewind(3);
  control.makeNextIndependent();
  expect(encodeAll(encoder)).toEqual(encodeAll(control));
  encoder.close();
  control.close();
});

test("an encoder is no larger than its saved state", async () => {
  const opus = await loadLibopus();
  const encoders = Array.from({ length: 3 }, () => opus.createEncoder(OPTIONS));
  const [first = 0, second = 0, third = 0] = encoders;
  const gaps = [second - first, third - second];
  // A word of the heap itself lies between two encoders.
  expect(gaps).toContain(OPUS_ENCODER_BYTES + 8);
  for (const encoder of encoders) opus.module._oc_destroy_encoder(encoder);
});

test("a closed encoder does not rewind: its memory belongs to nobody, or to another", async () => {
  const opus = await loadLibopus();
  const encoder = new OpusFrameEncoder(opus, OPTIONS);
  encoder.encode(LEFT_TONE.subarray(0, 960), RIGHT_TONE.subarray(0, 960));
  encoder.close();
  const controlled = vi.spyOn(opus, "setComplexity");
  encoder.rewind(1);
  expect(controlled).not.toHaveBeenCalled();
});
