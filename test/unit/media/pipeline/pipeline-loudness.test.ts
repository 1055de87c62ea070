// Loudness in a whole pipeline: the tags reach the stage before the first frame, positions and ends are exact, and the
// switch from passthrough to normalization and back is inaudible.

import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { findClicks } from "../../../../lab/listen/faults.ts";
import { decodeReceived } from "../../../../lab/listen/received.ts";
import { OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";
import type { AudioStream, Packet } from "../../../../src/media/format/packet.ts";
import { Codecs } from "../../../../src/media/pipeline/codecs.ts";
import type { Pipeline } from "../../../../src/media/pipeline/pipeline.ts";
import { filterSettings } from "../../../support/filter-settings.ts";
import { loudnessOf } from "../../../support/loudness-of.ts";
import { opusHeaders } from "../../../support/media-builders.ts";
import { createPipeline } from "../../../support/pipelines.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";

const FRAME_MS = 20;
const FRAME_SAMPLES = 960;
const PRE_SKIP_MS = 6.5;
const SONG_PACKETS = 150;
/** Loudness of the tone below, in both channels. */
const SONG_LUFS = -20;
const LOUDNESS = { pluginFilters: { tonearm: { loudness: { target: -14, peak: -1 } } } };
const stereo = { sampleRateHz: 48_000, channelCount: 2, description: undefined } as const;
const OPUS: AudioStream = { ...stereo, codec: "opus", pcm: undefined };
const PCM: AudioStream = {
  ...stereo,
  codec: "pcm",
  channelCount: 1,
  pcm: { encoding: "float", bitsPerSample: 32, isBigEndian: false },
};

const packets = new Map<string, Packet[]>();
const opened: Pipeline[] = [];
const song = (sample: number) => 0.1 * Math.sin((2 * Math.PI * 1000 * sample) / 48_000);

beforeAll(async () => {
  const encoder = await OpusFrameEncoder.create({ complexity: 5, bitrateBps: 160_000 });
  const rest = { durationMs: FRAME_MS, trimEndSamples: 0 };
  const frames = Array.from({ length: SONG_PACKETS }, (_, index) =>
    Float32Array.from({ length: FRAME_SAMPLES }, (_sample, sample) => song(index * FRAME_SAMPLES + sample)),
  );
  const opus = frames.map((pcm, index) => {
    const data = Uint8Array.from(encoder.encode(pcm, pcm));
    return { ...rest, data, timestampMs: index * FRAME_MS - PRE_SKIP_MS };
  });
  packets.set("opus", opus);
  packets.set(
    "pcm",
    frames.map((pcm, index) => ({ ...rest, data: new Uint8Array(pcm.buffer), timestampMs: index * FRAME_MS })),
  );
  encoder.close();
});

afterEach(() => {
  for (const pipeline of opened.splice(0)) pipeline.close();
});

function start(
  stream: AudioStream,
  filters: object,
  {
    endMs,
    demuxer = new ScriptedDemuxer({ stream, packets: packets.get(stream.codec) ?? [] }),
  }: { endMs?: number; demuxer?: ScriptedDemuxer } = {},
) {
  const pipeline = createPipeline(demuxer, {
    endMs,
    lengthMs: SONG_PACKETS * FRAME_MS,
    codecs: new Codecs({ complexity: 5, bitrateBps: 160_000, encoder: "tonearm" }),
    filters: filterSettings(filters),
  });
  opened.push(pipeline);
  return { pipeline };
}

/** Frames until there are `count` or no more come, and the position behind each. */
async function render(pipeline: Pipeline, count = Number.POSITIVE_INFINITY) {
  const frames: Uint8Array[] = [];
  const positionsMs: number[] = [];
  const deadlineMs = performance.now() + 10_000;
  while (frames.length < count && performance.now() < deadlineMs) {
    const frame = pipeline.produce();
    if (frame !== undefined) {
      frames.push(Uint8Array.from(frame));
      positionsMs.push(pipeline.positionMs);
    } else if (pipeline.isEnded) break;
    await new Promise((next) => setImmediate(next));
  }
  return { frames, positionsMs };
}

/** Loudness of a second of frames, without the encoder's first. */
async function loudnessIn(frames: readonly Uint8Array[], from = 1, to = frames.length): Promise<number> {
  const { left, right } = await decodeReceived(frames);
  return loudnessOf(
    left.slice(from * FRAME_SAMPLES, to * FRAME_SAMPLES),
    right.slice(from * FRAME_SAMPLES, to * FRAME_SAMPLES),
  );
}

describe.each([
  ["Opus", OPUS],
  ["PCM", PCM],
])("%s", (_name, stream) => {
  it("loudness with a tag is at the target from the first frames on, exact in position and length", async () => {
    const { pipeline } = start({ ...stream, loudnessLufs: SONG_LUFS }, LOUDNESS);
    const { frames, positionsMs } = await render(pipeline);
    expect(Math.abs((await loudnessIn(frames, 1, 26)) + 14)).toBeLessThan(0.3);
    expect(Math.abs((await loudnessIn(frames)) + 14)).toBeLessThan(0.3);
    expect(Math.abs(frames.length - SONG_PACKETS)).toBeLessThanOrEqual(1);
    const errors = positionsMs.slice(0, -2).map((positionMs, frame) => Math.abs(positionMs - (frame + 1) * FRAME_MS));
    expect(Math.max(...errors)).toBeLessThan(PRE_SKIP_MS + 0.1);
  });

  it("loudness without a tag begins at the estimate and moves to the target", async () => {
    const { frames } = await render(start(stream, LOUDNESS).pipeline);
    expect(Math.abs((await loudnessIn(frames, 1, 21)) + 22)).toBeLessThan(0.5);
    // 0.4 s until there is a measurement, then 3 dB a second.
    expect(Math.abs((await loudnessIn(frames, 125, 150)) + 15)).toBeLessThan(1);
  });

  it("loudness keeps the gain over a seek", async () => {
    const { pipeline } = start(stream, LOUDNESS);
    await render(pipeline, 100);
    pipeline.seek(200);
    await expect.poll(() => pipeline.seekTargetMs).toBeUndefined();
    const { frames, positionsMs } = await render(pipeline, 40);
    // For Opus, accurate to the nearest packet.
    expect(Math.abs(positionsMs.at(-1)! - 1000)).toBeLessThan(31);
    expect(await loudnessIn(frames, 1, 40)).toBeGreaterThan(-18);
  });

  it("loudness ends at the track's end time", async () => {
    const { frames } = await render(start(stream, LOUDNESS, { endMs: 1000 }).pipeline);
    expect(Math.abs(frames.length - 50)).toBeLessThanOrEqual(1);
  });

  it("loudness with timescale beside it ends when the song is over", async () => {
    const { pipeline } = start({ ...stream, loudnessLufs: SONG_LUFS }, { ...LOUDNESS, timescale: { speed: 1.5 } });
    const { frames } = await render(pipeline);
    expect(Math.abs(frames.length - SONG_PACKETS / 1.5)).toBeLessThanOrEqual(1.5);
    expect(Math.abs((await loudnessIn(frames, 1, 95)) + 14)).toBeLessThan(0.5);
  });
});

/** A chained stream: from its middle on another song, with its own tag. */
class TwoSongs extends ScriptedDemuxer {
  #count = 0;

  override next() {
    this.#count += 1;
    if (this.#count > SONG_PACKETS / 2) this.stream = SECOND;
    return super.next();
  }
}

const SECOND = { ...OPUS, loudnessLufs: SONG_LUFS - 4 };

it("loudness takes the tag of a chained stream's next song from where it starts", async () => {
  const first = { ...OPUS, loudnessLufs: SONG_LUFS };
  const demuxer = new TwoSongs({ stream: first, packets: packets.get("opus") ?? [] });
  const { frames } = await render(start(first, LOUDNESS, { demuxer }).pipeline);
  expect(Math.abs((await loudnessIn(frames, 30, 70)) + 14)).toBeLessThan(0.3);
  // Moving to -10 by 3 dB a second.
  expect(Math.abs((await loudnessIn(frames, 95, 145)) + 11.3)).toBeLessThan(0.5);
});

it("loudness counts the output gain of an Opus header: tags are measured behind it", async () => {
  const [head] = opusHeaders();
  const description = Uint8Array.from(head);
  new DataView(description.buffer).setInt16(16, -6 * 256, true);
  const stream = { ...OPUS, description, loudnessLufs: SONG_LUFS - 6 };
  const { frames } = await render(start(stream, LOUDNESS).pipeline);
  expect(Math.abs((await loudnessIn(frames)) + 14)).toBeLessThan(0.3);
});

it("loudness is switched on during passthrough, and off again: at once, without a click, back to the file's", async () => {
  const { pipeline } = start({ ...OPUS, loudnessLufs: SONG_LUFS }, {});
  const before = await render(pipeline, 30);
  pipeline.setFilters(LOUDNESS);
  const during = await render(pipeline, 40);
  pipeline.setFilters({});
  const after = await render(pipeline);
  const own = new Set(packets.get("opus")?.map(({ data }) => Buffer.from(data).toString("base64")));
  const isOwn = [before, during, after].map(({ frames }) =>
    frames.map((frame) => own.has(Buffer.from(frame).toString("base64"))),
  );
  expect(isOwn[0]).not.toContain(false);
  expect(isOwn[1]!.lastIndexOf(true)).toBeLessThan(4);
  expect(isOwn[2]!.lastIndexOf(false)).toBeLessThan(6);
  const positionsMs = [before, during, after].flatMap((part) => part.positionsMs);
  expect(positionsMs.length).toBe(SONG_PACKETS);
  positionsMs.forEach((positionMs, frame) => {
    expect(Math.abs(positionMs - (frame + 1) * FRAME_MS + PRE_SKIP_MS)).toBeLessThan(0.01);
  });
  const frames = [before, during, after].flatMap((part) => part.frames);
  expect(Math.abs((await loudnessIn(frames, 36, 68)) + 14)).toBeLessThan(0.3);
  const { left } = await decodeReceived(frames);
  expect(findClicks(left.subarray(FRAME_SAMPLES, -2 * FRAME_SAMPLES))).toEqual([]);
});
