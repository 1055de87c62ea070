import { expect, test } from "vitest";
import { ExactDecoder } from "../../../../lab/quality/exact-decoder.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";
import { TonearmFrameEncoder } from "../../../../src/media/encode/tonearm-encoder.ts";
import { ENCODER_DELAY_SAMPLES, FRAME_SAMPLES } from "../../../../src/media/format/audio-format.ts";
import { type FrameHead, readFrameHead } from "../../../../src/media/opus/frame-head.ts";

const HOSTILE_PACKETS = 5_000;
const KNOCK_FRAMES = 7;
const LED_FRAMES = 2;

function noiseFrame(random: () => number): [Float32Array, Float32Array] {
  const side = () => Float32Array.from({ length: FRAME_SAMPLES }, () => random() - 0.5);
  return [side(), side()];
}

test("what an encoder was told to begin with is what its packet says", async () => {
  const random = seededRandom(5);
  const encoder = await TonearmFrameEncoder.create({ bitrateBps: 128_000 });
  encoder.encode(...noiseFrame(random));
  for (const period of [15, 30, 31, 62, 63, 126, 127, 254, 255, 510, 511, 1022, 0]) {
    const isOn = period > 0;
    for (const taps of isOn ? [0, 1, 2] : [0]) {
      const gainStep = isOn ? Math.floor(8 * random()) : 0;
      const head: FrameHead = { period, gainStep, taps, isTransient: random() < 0.5 };
      expect(readFrameHead(encoder.encode(...noiseFrame(random), head))).toEqual(head);
    }
  }
  const silence = new Float32Array(FRAME_SAMPLES);
  for (let frame = 0; frame < 3; frame++) encoder.encode(silence, silence);
  const ofSilence = readFrameHead(encoder.encode(silence, silence));
  expect(ofSilence).toEqual({ period: 0, gainStep: 0, taps: 0, isTransient: false });
  encoder.close();
});

test("packets that are not one frame of 20 ms of CELT have none", () => {
  const bytes = (toc: number) => Uint8Array.of(toc, 1, 2, 3);
  expect(readFrameHead(bytes(31 << 3))).toBeDefined();
  for (const toc of [0, 3 << 3, 15 << 3, 30 << 3, (31 << 3) | 1, (31 << 3) | 3]) {
    expect(readFrameHead(bytes(toc)), `${toc}`).toBeUndefined();
  }
  for (const length of [0, 1, 2]) expect(readFrameHead(bytes(31 << 3).subarray(0, length))).toBeUndefined();
});

test("whatever a packet holds, what is read is within bounds", () => {
  const random = seededRandom(6);
  let filteredCount = 0;
  for (let count = 0; count < HOSTILE_PACKETS; count++) {
    const packet = Uint8Array.from({ length: 3 + Math.floor(6 * random()) }, () => Math.floor(256 * random()));
    packet[0] = 31 << 3;
    const head = readFrameHead(packet)!;
    expect(head.period === 0 || (head.period >= 15 && head.period <= 1022)).toBe(true);
    expect([0, 1, 2]).toContain(head.taps);
    expect(head.gainStep & 7).toBe(head.gainStep);
    if (head.period > 0) filteredCount += 1;
  }
  expect(filteredCount).toBeGreaterThan(HOSTILE_PACKETS / 4);
});

/** A tone, which libopus filters, with a knock now and then. */
function tonalSong(frameCount: number): Float32Array {
  return Float32Array.from({ length: frameCount * FRAME_SAMPLES }, (_, at) => {
    const knock = at % (KNOCK_FRAMES * FRAME_SAMPLES) < 60 ? 0.4 * Math.sin(at * 1.3) : 0;
    return 0.5 * Math.sin((at * 2 * Math.PI * 1925) / 48_000) + knock;
  });
}

async function decode(packets: readonly Uint8Array[]): Promise<Float32Array> {
  const decoder = await ExactDecoder.create(2);
  const left = new Float32Array(packets.length * FRAME_SAMPLES);
  packets.forEach((packet, index) => {
    const sound = decoder.decode(packet);
    for (let at = 0; at < FRAME_SAMPLES; at++) left[index * FRAME_SAMPLES + at] = sound[2 * at]!;
  });
  decoder.close();
  return left;
}

function frameAt(sound: Float32Array, from: number): [Float32Array, Float32Array] {
  const frame = new Float32Array(FRAME_SAMPLES);
  frame.set(sound.subarray(from, from + FRAME_SAMPLES));
  return [frame, frame];
}

/**
 * Share of the sound that is amiss where packets of libopus follow behind frames of ours, the worst of many places; not
 * at a knock, which comes out of nothing, so that its packet leans on how loud nothing was.
 */
async function worstSeam(isLed: boolean): Promise<number> {
  const [before, count] = [6, 60];
  const song = tonalSong(count);
  const libopus = await OpusFrameEncoder.create({ complexity: 10, bitrateBps: 128_000 });
  const packets = Array.from({ length: count }, (_, nth) => {
    return Uint8Array.from(libopus.encode(...frameAt(song, nth * FRAME_SAMPLES)));
  });
  libopus.close();
  const wanted = await decode(packets);
  const errors: number[] = [];
  for (let seam = 20; seam < 40; seam++) {
    if (seam % KNOCK_FRAMES === 0) continue;
    const encoder = await TonearmFrameEncoder.create({ bitrateBps: 128_000 });
    const ours = Array.from({ length: before }, (_, index) => {
      const nth = seam - before + index;
      const head = isLed && nth >= seam - LED_FRAMES ? readFrameHead(packets[nth]!) : undefined;
      return Uint8Array.from(encoder.encode(...frameAt(wanted, nth * FRAME_SAMPLES + ENCODER_DELAY_SAMPLES), head));
    });
    encoder.close();
    const heard = await decode([...ours, packets[seam]!]);
    const [error, level] = [0, 1].map((isLevel) => {
      const from = before * FRAME_SAMPLES;
      return heard.subarray(from).reduce((sum, value, at) => {
        const want = wanted[seam * FRAME_SAMPLES + at]!;
        return sum + (isLevel === 1 ? want : value - want) ** 2;
      }, 0);
    });
    errors.push(error! / level!);
  }
  return Math.max(...errors);
}

test("packets of libopus follow on frames of ours that begin as those they replace", async () => {
  const [led, free] = [await worstSeam(true), await worstSeam(false)];
  expect(free).toBeGreaterThan(0.05);
  expect(led).toBeLessThan(0.001);
});
