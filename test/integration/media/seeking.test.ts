// Start positions and seeks, forward, back and close to the end, in every container: the audio received next is from
// that position of the song, to 20 ms, and equals the audio of playing from the beginning.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StereoAudio } from "../../../lab/listen/received.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { decodeSongFile, makeSongFile } from "../../support/song-files.ts";
import { SongListener } from "../../support/song-listener.ts";
import { findLanding, type Landing } from "../../support/song-verdict.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const LENGTH_MS = 30_000;
/** Where each file is started, then sought to, in this order. The last is played to its end. */
const POSITIONS_MS = [12_340, 24_770, 5_555, 29_200] as const;
/** Number of packets received after each seek: enough to find its position; the seek itself takes some of them. */
const RECEIVED_PACKETS = 60;
const WITHIN_MS = 4000;
const PLAYERS = 4;

/**
 * Packets included from before each seek: a decoder that starts at the seam lacks the state that the packets after it
 * depend on.
 */
const WARM_UP_PACKETS = 25;

const HLS = "-f hls -hls_time 4 -hls_list_size 0 -hls_playlist_type vod";
/** Live WebM does not say how long it is: to clients it is a stream, which has no positions. */
const FILES: Readonly<Record<string, string>> = {
  "cbr.mp3": "-c:a libmp3lame -b:a 192k",
  "vbr.mp3": "-c:a libmp3lame -q:a 2",
  "cbr-no-xing.mp3": "-c:a libmp3lame -b:a 192k -write_xing 0",
  "vbr-no-xing.mp3": "-c:a libmp3lame -q:a 2 -write_xing 0",
  "aac.m4a": "-c:a aac -b:a 192k",
  "fragmented.mp4": "-c:a aac -b:a 192k -movflags frag_keyframe+empty_moov -frag_duration 2000000",
  "dash.mp4": "-c:a aac -b:a 192k -movflags +dash+global_sidx+frag_keyframe+empty_moov -frag_duration 2000000",
  "alac.m4a": "-c:a alac -sample_fmt s16p",
  "opus.webm": "-c:a libopus -b:a 128k -ar 48000",
  "vorbis.webm": "-c:a libvorbis -q:a 6",
  "flac.mkv": "-c:a flac",
  "opus.ogg": "-c:a libopus -b:a 128k -ar 48000",
  "vorbis.ogg": "-c:a libvorbis -q:a 6",
  "flac.ogg": "-c:a flac -f ogg",
  "cd.flac": "-c:a flac",
  "s16.wav": "-c:a pcm_s16le",
  "raw.aac": "-c:a aac -b:a 192k -f adts",
  "aac.ts": "-c:a aac -b:a 192k -f mpegts",
  "hls-ts.m3u8": `-c:a aac -b:a 192k ${HLS}`,
  "hls-mp4.m3u8": `-c:a aac -b:a 192k ${HLS} -hls_segment_type fmp4 -hls_fmp4_init_filename i.mp4`,
};

let env: TestEnvironment;
let listener: SongListener;
const folder = mkdtempSync(join(tmpdir(), "tonearm-seek-"));
const landings = new Map<string, readonly Landing[]>();
const failures = new Map<string, unknown>();

beforeAll(async () => {
  env = await startTestEnvironment({ media: { root: `${folder}/` } });
  listener = await SongListener.join(env);
  const references = new Map<string, StereoAudio>();
  await each(2, async (file) => {
    await makeSongFile({ folder, file, encode: FILES[file]!.split(" "), lengthMs: LENGTH_MS });
    references.set(file, await decodeSongFile(folder, file));
  });
  const received = new Map<string, StereoAudio[]>();
  await each(PLAYERS, async (file) => {
    received.set(file, await listenAtPositions(`${env.media.url}/${file}`));
  });
  // Only after all have ended: the comparison would block the thread of their node.
  await each(1, async (file) => {
    const [reference, pieces] = [references.get(file), received.get(file)];
    if (reference === undefined || pieces === undefined) return;
    const find = (piece: StereoAudio, index: number) =>
      findLanding(reference.left, piece.left, { targetMs: POSITIONS_MS[index]!, withinMs: WITHIN_MS });
    landings.set(file, pieces.map(find));
  });
}, 900_000);

afterAll(async () => {
  await env?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs `work` for all files, several at a time; its exceptions are reported by the file's tests. */
async function each(atOnce: number, work: (file: string) => Promise<void>): Promise<void> {
  const waiting = Object.keys(FILES);
  const workThrough = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const name = file;
      await work(name).catch((error: unknown) => failures.set(name, error));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, workThrough));
}

/** The audio received at each of the positions, with some of the audio before the seam. */
async function listenAtPositions(url: string): Promise<StereoAudio[]> {
  const guildId = await listener.openGuild(1);
  await listener.start(guildId, url, { position: POSITIONS_MS[0] });
  const pieces: StereoAudio[] = [];
  let from = 0;
  for (const position of POSITIONS_MS) {
    if (position !== POSITIONS_MS[0]) {
      from = listener.audioPacketCount(guildId);
      await listener.bot.update(guildId, { position });
    }
    if (position === POSITIONS_MS.at(-1)) await listener.untilEnd(guildId);
    // The old position plays until the new one is ready.
    else await listener.untilReceived(guildId, listener.audioPacketCount(guildId) + RECEIVED_PACKETS);
    pieces.push((await listener.take(guildId, Math.max(0, from - WARM_UP_PACKETS))).audio);
  }
  await listener.leave(guildId);
  return pieces;
}

describe.each(Object.keys(FILES))("%s", (file) => {
  test.each(POSITIONS_MS.map((targetMs, index) => [targetMs, index] as const))("at %i ms", (targetMs, index) => {
    const landing = landings.get(file)?.[index];
    if (landing === undefined) throw failures.get(file);
    expect(Math.abs(landing.songMs - targetMs)).toBeLessThan(20);
    expect(landing.signalToNoiseDb).toBeGreaterThan(25);
  });
});
