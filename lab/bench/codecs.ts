// Measures the cost of decoding, resampling, filtering and encoding: CPU milliseconds per second of audio, next to the
// Opus encoder in the same run, and what a decoder costs to start and to hold in memory. `npm run bench -- codecs`.

import { StereoFifo } from "../../src/lib/stereo-fifo.ts";
import { createDecoder } from "../../src/media/decode/create-decoder.ts";
import type { Decoder } from "../../src/media/decode/decoder.ts";
import { Resampler } from "../../src/media/decode/resampler.ts";
import { VolumeFilter } from "../../src/media/effects/filters/volume.ts";
import { OpusFrameEncoder } from "../../src/media/encode/opus-encoder.ts";
import type { AudioStream } from "../../src/media/format/packet.ts";
import { kernelForRate } from "../../src/media/kernels/resampler-kernel.ts";
import { makeTone } from "../listen/tone.ts";
import { readCodecPackets } from "../media-files/codec-packets.ts";

const ROUNDS = 12;
const CODECS = ["mp3", "vorbis", "flac", "alac", "aac"];

const music = ["0.3", "0.2"].map((gain, index) => {
  const tone = makeTone({ frequencyHz: 330 + 100 * index, sampleRateHz: 48_000, lengthSamples: 48_000 });
  return tone.map((value, sample) => value * Number(gain) + 0.1 * Math.sin(sample * sample * 1e-5));
}) as [Float32Array, Float32Array]; // two gains, two channels

/** The best of several rounds: what the machine can do undisturbed. */
async function costMs(seconds: number, work: () => void | Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    await work();
    const used = process.cpuUsage(before);
    best = Math.min(best, (used.user + used.system) / 1000 / seconds);
  }
  return best;
}

function print(name: string, milliseconds: number, encoderMs: number): void {
  const share = ((100 * milliseconds) / encoderMs).toFixed(0);
  console.log(`${name.padEnd(34)}${milliseconds.toFixed(2).padStart(8)} ms/s${share.padStart(6)} % of the encoder`);
}

const encoder = await OpusFrameEncoder.create({ complexity: 10, bitrateBps: 128_000 });
const frames = Array.from({ length: 50 }, (_, frame) => {
  return music.map((channel) => channel.slice(frame * 960, frame * 960 + 960)) as [Float32Array, Float32Array];
});
const encoderMs = await costMs(4, () => {
  for (let second = 0; second < 4; second++) for (const [left, right] of frames) encoder.encode(left, right);
});
print("Opus encode, complexity 10", encoderMs, encoderMs);

const packets = frames.map(([left, right]) => encoder.encode(left, right).slice());
encoder.close();
const opus: AudioStream = {
  codec: "opus",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
};
await printDecoder("Opus decode", opus, packets);
for (const name of CODECS) {
  const { stream, packets } = readCodecPackets(name);
  await printDecoder(`${name} decode`, stream, packets);
}

for (const rate of [8000, 44_100, 44_056, 96_000, 192_000]) {
  const startMs = performance.now();
  kernelForRate(rate);
  const tableMs = performance.now() - startMs;
  const resampler = new Resampler(rate);
  const block = new Float32Array(rate / 50).fill(0.1);
  const sink = { append: () => undefined };
  const cost = await costMs(10, () => {
    for (let frame = 0; frame < 500; frame++) resampler.push(block, block, block.length, sink);
  });
  print(`resample ${rate} Hz (table ${tableMs.toFixed(1)} ms)`, cost, encoderMs);
}

const fifo = new StereoFifo();
const volume = new VolumeFilter(50);
const [left, right] = [new Float32Array(960), new Float32Array(960)];
const fifoMs = await costMs(20, () => {
  for (let frame = 0; frame < 1000; frame++) {
    fifo.append(left, right, 0, 960);
    fifo.readInto(left, right, 960);
  }
});
print("StereoFifo in and out", fifoMs, encoderMs);
const volumeMs = await costMs(20, () => {
  for (let frame = 0; frame < 1000; frame++) volume.process(left, right, 960);
});
print("volume", volumeMs, encoderMs);
process.exit();

async function printDecoder(name: string, stream: AudioStream, encoded: readonly Uint8Array[]): Promise<void> {
  const first = performance.now();
  const decoder = await createDecoder(stream);
  const firstMs = performance.now() - first;
  const samples = await decodeAll(decoder, encoded);
  const seconds = (4 * samples) / stream.sampleRateHz;
  const cost = await costMs(seconds, async () => {
    for (let round = 0; round < 4; round++) await decodeAll(decoder, encoded);
  });
  print(name, cost, encoderMs);
  decoder.close();
  const memoryBefore = process.memoryUsage().rss;
  const startedAt = performance.now();
  const more: Decoder[] = [];
  for (let count = 0; count < 20; count++) {
    const another = await createDecoder(stream);
    await another.decode(encoded[0]!);
    more.push(another);
  }
  const eachMs = (performance.now() - startedAt) / more.length;
  const eachMegabytes = (process.memoryUsage().rss - memoryBefore) / 1e6 / more.length;
  for (const another of more) another.close();
  console.log(
    `    first ${firstMs.toFixed(1)} ms, further ones ${eachMs.toFixed(1)} ms, ${eachMegabytes.toFixed(2)} MB each`,
  );
}

/** Number of samples decoded. Audio that is returned synchronously is not awaited. */
async function decodeAll(decoder: Decoder, encoded: readonly Uint8Array[]): Promise<number> {
  let samples = 0;
  for (const packet of encoded) {
    const block = decoder.decode(packet);
    samples += (block instanceof Promise ? await block : block).lengthSamples;
  }
  return samples;
}
