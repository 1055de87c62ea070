// Timescale in a whole pipeline: positions, seeks and ends are in song time, and the switch from passthrough to
// timescale and back is inaudible.

import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { findClicks } from "../../../../lab/listen/faults.ts";
import { decodeReceived } from "../../../../lab/listen/received.ts";
import { pitchCents } from "../../../../lab/listen/tone.ts";
import { OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";
import type { AudioStream, Packet } from "../../../../src/media/format/packet.ts";
import { Codecs } from "../../../../src/media/pipeline/codecs.ts";
import type { Pipeline, PipelineOptions } from "../../../../src/media/pipeline/pipeline.ts";
import { filterSettings } from "../../../support/filter-settings.ts";
import { createPipeline } from "../../../support/pipelines.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";

const FRAME_MS = 20;
const FRAME_SAMPLES = 960;
const PRE_SKIP_MS = 6.5;
const SONG_PACKETS = 150;
const SONG_MS = SONG_PACKETS * FRAME_MS;
/** How far positions may be off while the stretcher searches for a good position. */
const POSITION_MS_MAX = 40;
const TONE_HZ = 353.7;
const stereo = { sampleRateHz: 48_000, channelCount: 2, description: undefined } as const;
const OPUS: AudioStream = { ...stereo, codec: "opus", pcm: undefined };
const PCM: AudioStream = {
  ...stereo,
  codec: "pcm",
  sampleRateHz: 44_100,
  channelCount: 1,
  pcm: { encoding: "float", bitsPerSample: 32, isBigEndian: false },
};

const packets = new Map<AudioStream, Packet[]>();
const opened: Pipeline[] = [];
const song = (seconds: number) => 0.3 * Math.sin(2 * Math.PI * TONE_HZ * seconds);

beforeAll(async () => {
  const encoder = await OpusFrameEncoder.create({ complexity: 10, bitrateBps: 160_000 });
  const at = (index: number) => index * FRAME_MS;
  const rest = { durationMs: FRAME_MS, trimEndSamples: 0 };
  const opus = Array.from({ length: SONG_PACKETS }, (_, index) => {
    const pcm = Float32Array.from({ length: FRAME_SAMPLES }, (_, sample) =>
      song((index * FRAME_SAMPLES + sample) / 48_000),
    );
    return { ...rest, data: Uint8Array.from(encoder.encode(pcm, pcm)), timestampMs: at(index) - PRE_SKIP_MS };
  });
  const pcm = Array.from({ length: SONG_PACKETS }, (_, index) => {
    const samples = Float32Array.from({ length: 882 }, (_, sample) => song((index * 882 + sample) / 44_100));
    return { ...rest, data: new Uint8Array(samples.buffer), timestampMs: at(index) };
  });
  packets.set(OPUS, opus);
  packets.set(PCM, pcm);
  encoder.close();
});

afterEach(() => {
  for (const pipeline of opened.splice(0)) pipeline.close();
});

function start(stream: AudioStream, filters: object, options: Partial<PipelineOptions> = {}) {
  const demuxer = new ScriptedDemuxer({ stream, packets: packets.get(stream)! });
  const codecs = new Codecs({ complexity: 10, bitrateBps: 160_000, encoder: "tonearm" });
  const pipeline = createPipeline(demuxer, { codecs, ...options, filters: filterSettings(filters) });
  opened.push(pipeline);
  return { pipeline };
}

/** Frames until there are `count` or no more come; `onFrame` receives how many there were. */
async function frames(
  pipeline: Pipeline,
  count = Number.POSITIVE_INFINITY,
  onFrame: (frameCount: number) => void = () => undefined,
): Promise<Uint8Array[]> {
  const taken: Uint8Array[] = [];
  const deadlineMs = performance.now() + 10_000;
  while (taken.length < count && performance.now() < deadlineMs) {
    const frame = pipeline.produce();
    if (frame === undefined) {
      if (pipeline.isEnded) break;
    } else {
      taken.push(Uint8Array.from(frame));
      onFrame(taken.length);
    }
    await new Promise((next) => setImmediate(next));
  }
  return taken;
}

describe.each([
  ["Opus", OPUS],
  ["PCM at 44.1 kHz", PCM],
])("%s", (_name, stream) => {
  it.each([
    [{ speed: 2 }, 2],
    [{ speed: 0.5 }, 0.5],
    [{ speed: 1.2, pitch: 1.2 }, 1.2],
    [{ rate: 0.8 }, 0.8],
    [{ speed: 0.85, pitch: 0.8 }, 0.85],
  ] as const)(
    "timescale with %j ends when the song is over, and its position runs in song time",
    async (timescale, tempo) => {
      const { pipeline } = start(stream, { timescale });
      const errors: number[] = [];
      const received = await frames(pipeline, undefined, (count) =>
        errors.push(Math.abs(pipeline.positionMs - Math.min(SONG_MS, count * FRAME_MS * tempo))),
      );
      expect(Math.abs(received.length - SONG_PACKETS / tempo)).toBeLessThanOrEqual(1.5);
      expect(Math.max(...errors)).toBeLessThan(POSITION_MS_MAX);
      const { left } = await decodeReceived(received);
      const pitch = ("pitch" in timescale ? timescale.pitch : 1) * ("rate" in timescale ? timescale.rate : 1);
      expect(Math.abs(pitchCents(left.subarray(9600, -9600), TONE_HZ * pitch, 48_000) ?? 1200)).toBeLessThan(3);
      expect(findClicks(left.subarray(FRAME_SAMPLES, -2 * FRAME_SAMPLES))).toEqual([]);
    },
  );

  it("timescale stops at its end time, which is in song time", async () => {
    const { pipeline } = start(stream, { timescale: { speed: 2 } }, { endMs: 1000 });
    const received = await frames(pipeline);
    expect(Math.abs(received.length - 25)).toBeLessThanOrEqual(1);
  });

  it("timescale starts and seeks in song time, without a click", async () => {
    const { pipeline } = start(stream, { timescale: { speed: 2 } }, { startMs: 500 });
    const before = await frames(pipeline, 10);
    expect(Math.abs(pipeline.positionMs - 900)).toBeLessThan(POSITION_MS_MAX);
    pipeline.seek(2000);
    while (pipeline.seekTargetMs !== undefined) await new Promise((next) => setImmediate(next));
    const after = await frames(pipeline, 10);
    expect(Math.abs(pipeline.positionMs - 2400)).toBeLessThan(POSITION_MS_MAX);
    const rest = await frames(pipeline);
    expect(Math.abs(rest.length - 15)).toBeLessThanOrEqual(1.5);
    const { left } = await decodeReceived([...before, ...after]);
    expect(findClicks(left.subarray(FRAME_SAMPLES), { factor: 20 })).toEqual([]);
  });

  it.each([{ speed: 1.5 }, { speed: 1.2, pitch: 1.2 }, { pitch: 0.8 }, { rate: 0.7 }])(
    "timescale is changed to %j and back during playback: at once, without a click, with the right position",
    async (timescale) => {
      const { pipeline } = start(stream, {});
      const before = await frames(pipeline, 20);
      const positionMs = pipeline.positionMs;
      pipeline.setFilters(filterSettings({ timescale }));
      const during = await frames(pipeline, 30);
      const rate = ("speed" in timescale ? timescale.speed : 1) * ("rate" in timescale ? timescale.rate : 1);
      expect(Math.abs(pipeline.positionMs - positionMs - 30 * FRAME_MS * rate)).toBeLessThan(
        POSITION_MS_MAX + FRAME_MS,
      );
      const thenMs = pipeline.positionMs;
      pipeline.setFilters({});
      const after = await frames(pipeline, 30);
      expect(Math.abs(pipeline.positionMs - thenMs - 30 * FRAME_MS)).toBeLessThan(POSITION_MS_MAX + FRAME_MS);
      expect(pipeline.rate).toBe(1);
      const rest = await frames(pipeline);
      const { left } = await decodeReceived([...before, ...during, ...after, ...rest]);
      expect(findClicks(left.subarray(FRAME_SAMPLES, -2 * FRAME_SAMPLES))).toEqual([]);
      if (stream !== OPUS) return;
      const own = packets.get(OPUS)!.map(({ data }) => Buffer.from(data).toString("base64"));
      // Audible at most 80 ms later, and back to the very packets within 200 ms.
      expect(during.findIndex((frame) => !own.includes(Buffer.from(frame).toString("base64")))).toBeLessThanOrEqual(4);
      const last = [...after.slice(10), ...rest].map((frame) => Buffer.from(frame).toString("base64"));
      expect(last).toEqual(own.slice(-last.length));
    },
  );
});
