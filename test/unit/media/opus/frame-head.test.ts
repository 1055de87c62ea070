import { type FrameHead, OpusEncoder } from "@tonearm/opus-encoder";
import { expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { encoderKindOf } from "../../../../opus-encoder/lab/encoders.ts";
import { encodeSong, seamErrors } from "../../../../opus-encoder/lab/seams.ts";
import { TonearmFrameEncoder } from "../../../../src/media/encode/tonearm-encoder.ts";
import { FRAME_SAMPLES } from "../../../../src/media/format/audio-format.ts";
import { readFrameHead } from "../../../../src/media/opus/frame-head.ts";

const HOSTILE_PACKETS = 5_000;
const KNOCK_FRAMES = 7;

function noiseFrame(random: () => number): [Float32Array, Float32Array] {
  const side = () => Float32Array.from({ length: FRAME_SAMPLES }, () => random() - 0.5);
  return [side(), side()];
}

test("a packet's head is the one that the encoder was given", async () => {
  const random = seededRandom(5);
  const encoder = new TonearmFrameEncoder(OpusEncoder.create({ bitrateBps: 128_000 }));
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

test("packets that are not one frame of 20 ms of CELT have no head", () => {
  const bytes = (toc: number) => Uint8Array.of(toc, 1, 2, 3);
  expect(readFrameHead(bytes(31 << 3))).toBeDefined();
  for (const toc of [0, 3 << 3, 15 << 3, 30 << 3, (31 << 3) | 1, (31 << 3) | 3]) {
    expect(readFrameHead(bytes(toc)), `${toc}`).toBeUndefined();
  }
  for (const length of [0, 1, 2]) expect(readFrameHead(bytes(31 << 3).subarray(0, length))).toBeUndefined();
});

test("a head read from any bytes is within bounds", () => {
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

test("packets of libopus continue frames of ours that begin like those they replace", async () => {
  const song = await encodeSong([tonalSong(60), tonalSong(60)]);
  // A knock follows silence, so that its packet depends on how loud the silence was.
  const seams = Array.from({ length: 20 }, (_, index) => 20 + index).filter((seam) => seam % KNOCK_FRAMES !== 0);
  const kind = encoderKindOf("tonearm");
  const led = await seamErrors(song, seams, { kind, ledFrames: 2 });
  const free = await seamErrors(song, seams, { kind, ledFrames: 0 });
  expect(Math.max(...free)).toBeGreaterThan(0.05);
  expect(Math.max(...led)).toBeLessThan(0.001);
});
