// Every container and codec in the variants people have, made by ffmpeg, through the whole path: what a listener hears is
// what ffmpeg hears in the file.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { levelDb, signalToNoiseDb } from "../../lab/listen/compare.ts";
import { findClicks, findGaps } from "../../lab/listen/faults.ts";
import { decodeHeard } from "../../lab/listen/heard.ts";
import type { Stage } from "../../lab/stage/stage.ts";
import { decodeLeft, makeSound } from "../support/ffmpeg.ts";
import { startStage } from "../support/start-stage.ts";

interface Variant {
  readonly file: string;
  readonly encode: string;
  readonly sampleRateHz?: number;
  readonly channelCount?: number;
}

const VARIANTS: readonly Variant[] = [
  { file: "cbr.mp3", encode: "-c:a libmp3lame -b:a 192k" },
  { file: "vbr.mp3", encode: "-c:a libmp3lame -q:a 2" },
  { file: "no-xing.mp3", encode: "-c:a libmp3lame -b:a 128k -write_xing 0 -id3v2_version 0" },
  { file: "tagged.mp3", encode: "-c:a libmp3lame -b:a 192k -id3v2_version 3 -metadata title=Song -write_id3v1 1" },
  { file: "mpeg2.mp3", encode: "-c:a libmp3lame -b:a 96k", sampleRateHz: 22_050, channelCount: 1 },
  { file: "mpeg25.mp3", encode: "-c:a libmp3lame -b:a 48k", sampleRateHz: 11_025, channelCount: 1 },
  { file: "aac.m4a", encode: "-c:a aac -b:a 192k" },
  { file: "faststart.m4a", encode: "-c:a aac -b:a 192k -movflags +faststart" },
  { file: "fragmented.mp4", encode: "-c:a aac -b:a 192k -movflags frag_keyframe+empty_moov -frag_duration 500000" },
  { file: "alac.m4a", encode: "-c:a alac" },
  { file: "flac.mp4", encode: "-c:a flac -strict -2" },
  { file: "opus.mp4", encode: "-c:a libopus -b:a 128k", sampleRateHz: 48_000 },
  { file: "mp3.mp4", encode: "-c:a libmp3lame -b:a 192k" },
  { file: "opus.webm", encode: "-c:a libopus -b:a 128k", sampleRateHz: 48_000 },
  { file: "opus60.webm", encode: "-c:a libopus -b:a 128k -frame_duration 60", sampleRateHz: 48_000 },
  { file: "opus10.webm", encode: "-c:a libopus -b:a 160k -frame_duration 10", sampleRateHz: 48_000 },
  { file: "opus-mono.webm", encode: "-c:a libopus -b:a 96k", sampleRateHz: 48_000, channelCount: 1 },
  { file: "vorbis.webm", encode: "-c:a libvorbis -q:a 6" },
  { file: "live.webm", encode: "-c:a libopus -b:a 128k -live 1", sampleRateHz: 48_000 },
  { file: "aac.mkv", encode: "-c:a aac -b:a 192k" },
  { file: "mp3.mkv", encode: "-c:a libmp3lame -b:a 192k" },
  { file: "flac.mkv", encode: "-c:a flac" },
  { file: "pcm.mkv", encode: "-c:a pcm_s16le" },
  { file: "opus.ogg", encode: "-c:a libopus -b:a 128k", sampleRateHz: 48_000 },
  { file: "vorbis.ogg", encode: "-c:a libvorbis -q:a 6" },
  { file: "vorbis-mono.ogg", encode: "-c:a libvorbis -q:a 6", sampleRateHz: 22_050, channelCount: 1 },
  { file: "flac.ogg", encode: "-c:a flac -f ogg" },
  { file: "cd.flac", encode: "-c:a flac" },
  { file: "studio.flac", encode: "-c:a flac -sample_fmt s32 -bits_per_raw_sample 24", sampleRateHz: 96_000 },
  { file: "u8.wav", encode: "-c:a pcm_u8" },
  { file: "s16.wav", encode: "-c:a pcm_s16le" },
  { file: "s24.wav", encode: "-c:a pcm_s24le", sampleRateHz: 96_000 },
  { file: "s32.wav", encode: "-c:a pcm_s32le", sampleRateHz: 48_000 },
  { file: "f32.wav", encode: "-c:a pcm_f32le", sampleRateHz: 48_000 },
  { file: "f64.wav", encode: "-c:a pcm_f64le", sampleRateHz: 88_200 },
  { file: "alaw.wav", encode: "-c:a pcm_alaw", sampleRateHz: 8000, channelCount: 1 },
  { file: "mulaw.wav", encode: "-c:a pcm_mulaw", sampleRateHz: 8000, channelCount: 1 },
  { file: "odd-rate.wav", encode: "-c:a pcm_s16le", sampleRateHz: 37_800 },
  { file: "raw.aac", encode: "-c:a aac -b:a 192k -f adts" },
  { file: "aac.ts", encode: "-c:a aac -b:a 192k -f mpegts" },
  { file: "mp3.ts", encode: "-c:a libmp3lame -b:a 192k -f mpegts" },
  { file: "hls-ts.m3u8", encode: "-c:a aac -b:a 192k -f hls -hls_time 1 -hls_list_size 0" },
  {
    file: "hls-mp4.m3u8",
    encode:
      "-c:a aac -b:a 192k -f hls -hls_time 1 -hls_list_size 0 -hls_segment_type fmp4 -hls_fmp4_init_filename i.mp4",
  },
];

/** So many play at once: enough to be quick, few enough to leave the processor to the sound. */
const PLAYERS = 6;
/** A listener may miss the padding at the end, but no more. */
const LENGTH_TOLERANCE_SAMPLES = 48 * 60;
/** Away from the edges, where encoders fade. */
const MIDDLE = [9600, 76_800] as const;

interface Take {
  readonly reference: Float32Array;
  readonly heard: Float32Array;
}

let stage: Stage;
const folder = mkdtempSync(join(tmpdir(), "tonearm-media-"));
const takes = new Map<string, Take>();
const failures = new Map<string, unknown>();

/** Files first, then sound: neither ffmpeg nor the comparing takes processor time from what plays. */
beforeAll(async () => {
  stage = await startStage({ media: { root: `${folder}/` } });
  for (const { file, encode, sampleRateHz = 44_100, channelCount = 2 } of VARIANTS) {
    await makeSound({ folder, file, encode: encode.split(" "), sampleRateHz, channelCount });
  }
  const waiting = [...VARIANTS];
  const playWaiting = async () => {
    for (let variant = waiting.shift(); variant !== undefined; variant = waiting.shift()) await record(variant.file);
  };
  await Promise.all(Array.from({ length: PLAYERS }, playWaiting));
}, 300_000);

afterAll(async () => {
  await stage?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function record(file: string): Promise<void> {
  try {
    const guildId = `${1000 + takes.size + failures.size}${VARIANTS.findIndex((variant) => variant.file === file)}`;
    const frames = await listenTo(`${stage.media.url}/${file}`, guildId);
    const { left } = await decodeHeard(frames);
    takes.set(file, { reference: await decodeLeft(folder, file), heard: left });
  } catch (error) {
    // Told by the test of this file.
    failures.set(file, error);
  }
}

async function listenTo(url: string, guildId: string): Promise<Uint8Array[]> {
  const bot = await stage.connectBot();
  await stage.joinVoice(bot, { guildId });
  const encoded = await bot.loadEncoded(url);
  await bot.update(guildId, { track: { encoded } });
  const { reason } = await bot.untilEvent("TrackEndEvent");
  if (reason !== "finished") throw new Error(`${url} ended as ${reason}`);
  const frames = stage.discord.channel(`${guildId}7`).listener.heardSound.map(({ opus }) => opus);
  await bot.destroy(guildId);
  return frames;
}

function takeOf(file: string): Take {
  const take = takes.get(file);
  if (take === undefined) throw failures.get(file);
  return take;
}

describe("what is heard is what ffmpeg hears", () => {
  test.each(VARIANTS)("$file", ({ file }) => {
    const { reference, heard } = takeOf(file);
    expect(signalToNoiseDb(reference, heard)).toBeGreaterThan(25);
    const levels = [heard, reference].map((sound) => levelDb(sound.subarray(...MIDDLE)));
    expect(Math.abs(levels[0]! - levels[1]!)).toBeLessThan(0.5);
    expect(Math.abs(heard.length - reference.length)).toBeLessThan(LENGTH_TOLERANCE_SAMPLES);
    expect(findGaps(heard)).toEqual([]);
    expect(findClicks(heard.subarray(4800, -4800))).toEqual([]);
  });
});
