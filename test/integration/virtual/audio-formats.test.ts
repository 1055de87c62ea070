// One song in every codec through the whole node: the listener receives the whole song at its level and pitch. In
// virtual time, except for AAC, which is decoded on separate threads.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StereoAudio } from "../../../lab/listen/received.ts";
import { writeWav } from "../../../lab/listen/wav.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { SongListener } from "../../support/song-listener.ts";
import { makeSong } from "../../support/song-signal.ts";
import { judgeSong } from "../../support/song-verdict.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const MEDIA = new URL("../../fixtures/media/", import.meta.url);
const LENGTH_MS = 2500;
const FRAME_MS = 20;
const SAMPLES_PER_MS = 48;
const FILES = ["song.mp3", "song.flac", "song.ogg", "song.wav", "song.webm"] as const;
/** The one that is longer. */
const WEBM_LENGTH_MS = 5000;

let virtual: VirtualTestEnvironment;
let listener: SongListener;
const folder = mkdtempSync(join(tmpdir(), "tonearm-audio-"));

beforeAll(async () => {
  const options = { sampleRateHz: 22_050, lengthMs: LENGTH_MS };
  const wav = join(folder, "song.wav");
  await writeWav(wav, { left: makeSong(0, options), right: makeSong(1, options), sampleRateHz: 22_050 });
  virtual = await VirtualTestEnvironment.start({
    media: { root: MEDIA.pathname, files: { "song.wav": readFileSync(wav) } },
  });
  listener = await virtual.run(() => SongListener.join(virtual.env));
});

afterAll(async () => {
  await virtual.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The song as it was before any encoder. */
function original(file: string): StereoAudio {
  const options = { sampleRateHz: 48_000, lengthMs: file === "song.webm" ? WEBM_LENGTH_MS : LENGTH_MS };
  const left = makeSong(0, options);
  if (file !== "song.flac") return { left, right: makeSong(1, options) };
  // This one is mono: ffmpeg took the mean of both sides.
  const right = makeSong(1, options);
  const mean = left.map((value, index) => (value + right[index]!) / 2);
  return { left: mean, right: mean };
}

async function expectTheSong(env: TestEnvironment, listener: SongListener, file: string): Promise<void> {
  const recording = await listener.record(`${env.media.url}/${file}`, { daveVersion: 1 });
  const reference = original(file);
  const verdict = judgeSong(reference, recording.audio);
  expect(verdict.signalToNoiseDb).toBeGreaterThan(25);
  expect(verdict.worstMomentDb, `at ${verdict.worstMomentMs} ms`).toBeGreaterThan(12);
  expect(Math.abs(verdict.levelDb)).toBeLessThan(0.5);
  expect(Math.abs(verdict.pitchCents)).toBeLessThan(2);
  expect(Math.abs(verdict.delayMs)).toBeLessThan(7);
  expect(verdict).toMatchObject({ gapCount: 0, clickCount: 0 });
  const surplusMs = recording.packets.length * FRAME_MS - reference.left.length / SAMPLES_PER_MS;
  expect(surplusMs).toBeGreaterThan(-1);
  expect(surplusMs).toBeLessThanOrEqual(FRAME_MS + 1);
}

test.each(FILES)("%s", (file) => virtual.run(() => expectTheSong(virtual.env, listener, file)));

test("song.m4a", { tags: ["real-time"] }, async () => {
  const env = await startTestEnvironment({ media: { root: MEDIA.pathname } });
  await expectTheSong(env, await SongListener.join(env), "song.m4a");
  await env.close();
});
