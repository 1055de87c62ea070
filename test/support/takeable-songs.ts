// Songs for tests of rewinding: the same six seconds as samples and as Opus packets, and a player that makes frames of
// them ahead.

import { createHash } from "node:crypto";
import { OpusFrameEncoder } from "../../src/media/encode/opus-encoder.ts";
import type { AudioStream, Packet } from "../../src/media/format/packet.ts";
import { Codecs } from "../../src/media/pipeline/codecs.ts";
import type { PipelineOptions } from "../../src/media/pipeline/pipeline.ts";
import { AheadPlayer } from "./ahead-player.ts";
import { createPipeline } from "./pipelines.ts";
import { ScriptedDemuxer } from "./scripted-demuxer.ts";
import { makeSong } from "./song-signal.ts";

export const SONG_MS = 4000;
const FRAME_MS = 20;
const FRAME_SAMPLES = 960;
const FORMAT = { sampleRateHz: 48_000, channelCount: 2, description: undefined };
const OPUS: AudioStream = { ...FORMAT, codec: "opus", pcm: undefined };
const PCM: AudioStream = {
  ...FORMAT,
  codec: "pcm",
  pcm: { encoding: "float", bitsPerSample: 32, isBigEndian: false },
};
const SETTINGS = { complexity: 1, bitrateBps: 128_000, encoder: "tonearm" } as const;

const LEFT = makeSong(0, { sampleRateHz: 48_000, lengthMs: SONG_MS });
const RIGHT = makeSong(1, { sampleRateHz: 48_000, lengthMs: SONG_MS });
const codecs = new Codecs(SETTINGS);

function packetsOf(dataOf: (left: Float32Array, right: Float32Array) => Uint8Array): Packet[] {
  return Array.from({ length: SONG_MS / FRAME_MS }, (_, index) => {
    const [start, end] = [index * FRAME_SAMPLES, (index + 1) * FRAME_SAMPLES];
    const data = dataOf(LEFT.slice(start, end), RIGHT.slice(start, end));
    return { data, timestampMs: index * FRAME_MS, durationMs: FRAME_MS, trimEndSamples: 0 };
  });
}

export interface TakeableSong {
  readonly stream: AudioStream;
  readonly packets: readonly Packet[];
}

/** Decoded whatever is asked for. */
export const PCM_SONG: TakeableSong = {
  stream: PCM,
  packets: packetsOf((left, right) => {
    const both = Float32Array.from({ length: 2 * FRAME_SAMPLES }, (_, at) => (at % 2 === 0 ? left : right)[at >> 1]!);
    return new Uint8Array(both.buffer);
  }),
};

/** Passed through where nothing changes the audio. */
export async function createOpusSong(): Promise<TakeableSong> {
  const encoder = await OpusFrameEncoder.create(SETTINGS);
  const packets = packetsOf((left, right) => encoder.encode(left, right).slice());
  encoder.close();
  return { stream: OPUS, packets };
}

/** Makes so many frames ahead of those it sends. The caller closes its pipeline. */
export function playAhead(
  { stream, packets }: TakeableSong,
  aheadFrames: number,
  options: Partial<PipelineOptions> = {},
): AheadPlayer {
  const demuxer = new ScriptedDemuxer({ stream, packets });
  return new AheadPlayer(createPipeline(demuxer, { codecs, ...options }), aheadFrames);
}

/** A word for each packet: a difference is reported as such, and not byte by byte. */
export function wordsOf(packets: readonly Uint8Array[]): readonly string[] {
  return packets.map((packet) => createHash("sha1").update(packet).digest("hex").slice(0, 10));
}
