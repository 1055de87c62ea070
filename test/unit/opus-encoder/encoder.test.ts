import {
  compileOpusEncoder,
  ENCODER_DELAY_SAMPLES,
  FRAME_SAMPLES,
  type FrameHead,
  OpusEncoder,
  OpusEncoderKernel,
  SAMPLE_RATE_HZ,
} from "@tonearm/opus-encoder";
import { expect, test } from "vitest";
import { fitTone } from "../../../lab/listen/tone.ts";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { ExactDecoder } from "../../../opus-encoder/lab/exact-decoder.ts";
import { HARD_SIGNALS, HardSignal } from "../../../opus-encoder/lab/hard-signals.ts";
import { EncoderPool } from "../../../src/media/encode/frame-encoder.ts";
import { TonearmFrameEncoder } from "../../../src/media/encode/tonearm-encoder.ts";
import * as nodeFormat from "../../../src/media/format/audio-format.ts";
import { isPassthroughPacket, parseOpusPacket } from "../../../src/media/opus/opus-packet.ts";
import { expectTwoTones, LEFT_TONE, RIGHT_TONE } from "../../support/two-tones.ts";

const OPTIONS = { bitrateBps: 128_000 };
const silence = new Float32Array(960);

/** A second of two tones, some noise and a knock now and then: steady and sudden frames. */
const music = [LEFT_TONE, RIGHT_TONE].map((tone, side) => {
  const random = seededRandom(side);
  return tone.map((value, at) => 0.5 * value + 0.05 * (random() - 0.5) + (at % 9000 < 40 ? 0.4 : 0));
}) as [Float32Array, Float32Array]; // two tones

function frameOf(audio: readonly [Float32Array, Float32Array], frame: number): [Float32Array, Float32Array] {
  const range = [(frame % 50) * 960, (frame % 50) * 960 + 960] as const;
  return [audio[0].subarray(...range), audio[1].subarray(...range)];
}

function encodeSecond(encoder: { encode(left: Float32Array, right: Float32Array): Uint8Array }): Uint8Array[] {
  return Array.from({ length: 50 }, (_, frame) => encoder.encode(...frameOf(music, frame)).slice());
}

test("libopus's decoder decodes Tonearm's packets with both channels, level, pitch and delay", async () => {
  const encoder = new TonearmFrameEncoder(OpusEncoder.create(OPTIONS));
  const decoder = await ExactDecoder.create(2);
  const pcm: number[] = [];
  for (let frame = 0; frame < 50; frame++) {
    const packet = encoder.encode(...frameOf([LEFT_TONE, RIGHT_TONE], frame));
    expect(isPassthroughPacket(packet)).toBe(true);
    pcm.push(...decoder.decode(packet));
  }
  expectTwoTones(pcm);
  encoder.close();
  decoder.close();
});

test("one channel is encoded as mono", async () => {
  const encoder = new TonearmFrameEncoder(OpusEncoder.create({ bitrateBps: 64_000, channelCount: 1 }));
  const decoder = await ExactDecoder.create(1);
  const pcm: number[] = [];
  for (let frame = 0; frame < 50; frame++) {
    const packet = encoder.encode(...frameOf([LEFT_TONE, RIGHT_TONE], frame));
    expect(parseOpusPacket(packet)?.isStereo).toBe(false);
    pcm.push(...decoder.decode(packet));
  }
  expect(fitTone(Float32Array.from(pcm.slice(4800, 43_200)), 440, 48_000).amplitude).toBeCloseTo(0.5, 2);
  encoder.close();
  decoder.close();
});

test.each(HARD_SIGNALS)("%s: at every rate libopus arrives at the same final range", async (name) => {
  const random = seededRandom(5);
  for (const bitrateKbps of [6, 8, 12, 16, 24, 32, 64, 128, 256, 510]) {
    const isVariable = random() < 0.5;
    const channelCount = random() < 0.5 ? 1 : 2;
    const encoder = new TonearmFrameEncoder(
      OpusEncoder.create({ bitrateBps: 1000 * bitrateKbps, channelCount, isVariable }),
    );
    const decoder = await ExactDecoder.create(channelCount);
    const audio = new HardSignal(name, random);
    for (let frame = 0; frame < 12; frame++) {
      audio.next();
      const decoded = decoder.decode(encoder.encode(audio.left, audio.right));
      expect(decoder.finalRange).toBe(encoder.finalRange);
      expect(decoded.every((value) => Math.abs(value) < 64)).toBe(true);
    }
    encoder.close();
    decoder.close();
  }
});

test("silence costs three bytes a packet, and the final range confirms that nothing else was coded", async () => {
  const encoder = new TonearmFrameEncoder(OpusEncoder.create(OPTIONS));
  const decoder = await ExactDecoder.create(2);
  for (let frame = 0; frame < 3; frame++) {
    const packet = encoder.encode(silence, silence);
    expect(packet).toHaveLength(3);
    expect(decoder.decode(packet).every((value) => Math.abs(value) < 1e-6)).toBe(true);
    expect([encoder.finalRange, decoder.finalRange]).toEqual([2 ** 24, 2 ** 24]);
  }
  encoder.close();
  decoder.close();
});

test.each([6, 8, 12, 16, 64, 128, 320])(
  "%d kbit/s: packets vary and keep the rate, or all are the same size",
  async (kbps) => {
    for (const isVariable of [true, false]) {
      const encoder = new TonearmFrameEncoder(OpusEncoder.create({ bitrateBps: 1000 * kbps, isVariable }));
      const sizes = Array.from({ length: 500 }, (_, frame) => encoder.encode(...frameOf(music, frame)).length);
      const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
      expect(mean / ((1000 * kbps) / 400)).toBeGreaterThan(0.97);
      expect(mean / ((1000 * kbps) / 400)).toBeLessThan(1.03);
      expect(new Set(sizes).size > 1).toBe(isVariable);
      encoder.close();
    }
  },
);

test("an independent packet decodes the same without earlier packets", async () => {
  const encoder = new TonearmFrameEncoder(OpusEncoder.create(OPTIONS));
  const [old, fresh] = [await ExactDecoder.create(2), await ExactDecoder.create(2)];
  for (let frame = 0; frame < 20; frame++) old.decode(encoder.encode(...frameOf(music, frame)));
  encoder.makeNextIndependent();
  const ranges = [];
  const errors: number[] = [];
  for (let frame = 20; frame < 30; frame++) {
    const packet = encoder.encode(...frameOf(music, frame)).slice();
    const expected = old.decode(packet).slice();
    const decoded = fresh.decode(packet);
    ranges.push([encoder.finalRange, fresh.finalRange]);
    // The first frame lacks the overlap with the frame before; noise differs, as it continues from that frame's.
    const from = frame === 20 ? 2 * 240 : 0;
    errors.push(Math.max(...expected.subarray(from).map((value, index) => Math.abs(value - decoded[from + index]!))));
  }
  expect(Math.max(...errors.slice(0, 2))).toBeLessThan(0.05);
  expect(Math.max(...errors.slice(2))).toBeLessThan(0.0001);
  for (const [ours, theirs] of ranges) expect(theirs).toBe(ours);
  for (const each of [encoder, old, fresh]) each.close();
});

test("encoders of a thread do not affect each other, and a used one is as new once it is reset", async () => {
  const alone = new TonearmFrameEncoder(OpusEncoder.create(OPTIONS));
  const expected = encodeSecond(alone);
  const [first, second] = [
    new TonearmFrameEncoder(OpusEncoder.create(OPTIONS)),
    new TonearmFrameEncoder(OpusEncoder.create(OPTIONS)),
  ];
  const packets = Array.from({ length: 50 }, (_, frame) => {
    second.encode(...frameOf([RIGHT_TONE, LEFT_TONE], 49 - frame));
    return first.encode(...frameOf(music, frame)).slice();
  });
  expect(packets).toEqual(expected);
  second.reset();
  expect(encodeSecond(second)).toEqual(expected);
  for (const encoder of [alone, first, second]) encoder.close();
});

test("a packet outlives the next frame, and a closed encoder gives none", async () => {
  const encoder = new TonearmFrameEncoder(OpusEncoder.create(OPTIONS));
  const packet = encoder.encode(...frameOf(music, 0));
  const copy = packet.slice();
  encoder.encode(...frameOf(music, 1));
  expect(packet).toEqual(copy);
  encoder.close();
  encoder.close();
  expect(() => encoder.encode(...frameOf(music, 2))).toThrow("the encoder is closed");
});

test("a bit rate outside 6 to 510 kbit/s is clamped, also beyond 32 bits", () => {
  const sizeAt = (bitrateBps: number): number => {
    const encoder = OpusEncoder.create({ bitrateBps, isVariable: false });
    const size = encoder.encode(...frameOf(music, 0), new Uint8Array(1276));
    encoder.close();
    return size;
  };
  expect([Number.NEGATIVE_INFINITY, 0, 5999, 6000].map(sizeAt)).toEqual([15, 15, 15, 15]);
  expect([510_000, 510_001, 2 ** 31, 2 ** 32, Number.POSITIVE_INFINITY].map(sizeAt)).toEqual(Array(5).fill(1275));
});

test("arrays that are too short and heads outside their ranges are refused, and the stream is as before", () => {
  const [encoder, other] = [OpusEncoder.create(OPTIONS), OpusEncoder.create(OPTIONS)];
  const mono = OpusEncoder.create({ ...OPTIONS, channelCount: 1 });
  const packet = new Uint8Array(1276);
  const [left, right] = frameOf(music, 0);
  const short = left.subarray(1);
  const state = encoder.state.slice();
  expect(() => encoder.encode(short, right, packet)).toThrow(RangeError);
  expect(() => encoder.encode(left, short, packet)).toThrow("a frame needs 960 samples of each side");
  expect(() => mono.encode(short, right, packet)).toThrow(RangeError);
  expect(() => encoder.encode(left, right, packet.subarray(1))).toThrow("a packet needs 1276 bytes of space");
  const head: FrameHead = { period: 100, gainStep: 3, taps: 1, isTransient: false };
  const wrong = [{ period: -1 }, { period: 14 }, { period: 1023 }, { gainStep: 8 }, { gainStep: -1 }, { taps: 3 }];
  for (const part of wrong) {
    expect(() => encoder.encode(left, right, packet, false, { ...head, ...part })).toThrow("outside its ranges");
  }
  expect(encoder.state).toEqual(state);
  expect(encoder.encode(left, right, packet, false, head)).toBe(
    other.encode(left, right, new Uint8Array(1276), false, head),
  );
  expect(mono.encode(left, new Float32Array(0), packet)).toBeGreaterThan(100);
  for (const each of [encoder, other, mono]) each.close();
});

test("the encoder kernel's memory grows with the encoders, up to a limit, and is reused", () => {
  const kernel = new OpusEncoderKernel(compileOpusEncoder());
  const slots = new Set<number>();
  expect(() => {
    for (;;) slots.add(kernel.acquire(2));
  }).toThrow("the Opus encoder's memory is full: it has no space for another encoder");
  expect(slots.size).toBeGreaterThan(1000);
  const [slot] = slots;
  kernel.release(slot!);
  expect(kernel.acquire(1)).toBe(slot);
  const packet = new Uint8Array(1276);
  const last = [...slots].at(-1)!;
  const settings = { bitrateBps: 64_000, isVariable: true };
  expect(kernel.encode(last, LEFT_TONE, RIGHT_TONE, settings, false, undefined, packet)).toBeGreaterThan(100);
});

test("the pool keeps Tonearm's encoders like those of libopus", () => {
  const kernel = new OpusEncoderKernel(compileOpusEncoder());
  const pool = new EncoderPool(() => new TonearmFrameEncoder(new OpusEncoder(kernel, OPTIONS)), { idleCountMax: 1 });
  const [one, other] = [pool.acquire(), pool.acquire()];
  const packets = encodeSecond(one);
  pool.release(one);
  pool.release(other);
  expect(pool.idleCount).toBe(1);
  expect(encodeSecond(pool.acquire())).toEqual(packets);
});

test("a state that is written back continues as if the frames after it had not been encoded", () => {
  const encoder = OpusEncoder.create(OPTIONS);
  const packet = new Uint8Array(1276);
  const encode = (frame: number) => packet.slice(0, encoder.encode(...frameOf(music, frame), packet));
  for (let frame = 0; frame < 10; frame++) encode(frame);
  const state = encoder.state.slice();
  const packets = [10, 11, 12].map(encode);
  encoder.state.set(state);
  expect([10, 11, 12].map(encode)).toEqual(packets);
  expect(encode(12)).not.toEqual(packets[2]);
  encoder.close();
  expect(encoder.state).toHaveLength(0);
  expect(() => encode(0)).toThrow("the encoder is closed");
});

test("the package has the audio format of the node", () => {
  expect({ FRAME_SAMPLES, SAMPLE_RATE_HZ, ENCODER_DELAY_SAMPLES }).toEqual({
    FRAME_SAMPLES: nodeFormat.FRAME_SAMPLES,
    SAMPLE_RATE_HZ: nodeFormat.SAMPLE_RATE_HZ,
    ENCODER_DELAY_SAMPLES: nodeFormat.ENCODER_DELAY_SAMPLES,
  });
});
