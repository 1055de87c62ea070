// Every container and codec in its common variants, made by ffmpeg, through the whole node: the received audio equals
// what ffmpeg decodes from the file, from its first moment to its last, and loadtracks returns title, author and
// length.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StereoAudio } from "../../../lab/listen/received.ts";
import type { LoadView } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { decodeSongFile, makeSongFile, runFfmpeg } from "../../support/song-files.ts";
import { SongListener, type WholeRecording } from "../../support/song-listener.ts";
import { judgeSong, type SongVerdict } from "../../support/song-verdict.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { LENGTH_MS, SONG_VARIANTS, type SongVariant, TAGS } from "./variants.ts";

/** Number of players at once: enough to be quick, few enough to leave the CPU to the audio. */
const PLAYERS = 8;
const FFMPEGS = 3;

const SAMPLES_PER_MS = 48;
const FRAME_MS = 20;
/**
 * Lengths are reported as Lavalink reports them, with an encoder's padding: up to four frames of 72 ms in MP3 at 8 kHz.
 */
const LENGTH_TOLERANCE_MS = 300;

interface TrackFacts {
  readonly length: number;
  readonly isStream: boolean;
}

interface Take {
  readonly reference: StereoAudio;
  readonly recording: WholeRecording;
  readonly load: LoadView;
}

let env: TestEnvironment;
let listener: SongListener;
const folder = mkdtempSync(join(tmpdir(), "tonearm-media-"));
const takes = new Map<string, Take>();
const verdicts = new Map<string, SongVerdict>();
const failures = new Map<string, unknown>();
/** The machine starved this process while a song was recorded. */
let wasStarved = false;

/** Makes the files first and plays them later: neither ffmpeg nor the comparison takes CPU time from playback. */
beforeAll(async () => {
  env = await startTestEnvironment({ media: { root: `${folder}/` } });
  listener = await SongListener.join(env);
  await makeCover();
  makeKey();
  const references = new Map<string, StereoAudio>();
  await each(FFMPEGS, async (variant) => void references.set(variant.file, await makeVariant(variant)));
  await each(PLAYERS, async ({ file }, index) => {
    const reference = references.get(file);
    if (reference === undefined) return;
    const url = `${env.media.url}/${file}`;
    takes.set(file, { reference, load: await listener.load(url), recording: await recordSteadily(url, index) });
  });
}, 900_000);

afterAll(async () => {
  await env?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function makeCover(): Promise<void> {
  await runFfmpeg(folder, ["-f", "lavfi", "-i", "testsrc2=size=600x600", "-frames:v", "1", "cover.png"]);
}

/** The input for ffmpeg's HLS encryption: the key's URL in the playlist, the key's file, the vector. */
function makeKey(): void {
  writeFileSync(join(folder, "key.bin"), Buffer.from("00112233445566778899aabbccddeeff", "hex"));
  writeFileSync(join(folder, "key-info.txt"), `key.bin\n${join(folder, "key.bin")}\n${"0f".repeat(16)}\n`);
}

async function makeVariant(variant: SongVariant): Promise<StereoAudio> {
  await makeSongFile({
    folder,
    lengthMs: LENGTH_MS,
    ...variant,
    file: variant.output ?? variant.file,
    encode: variant.encode.split(" "),
  });
  await variant.finish?.(folder);
  return decodeSongFile(folder, variant.reference ?? variant.file, variant.layout);
}

/** Runs `work` for all variants, several at a time; its exceptions are reported by the variant's test. */
async function each(atOnce: number, work: (variant: SongVariant, index: number) => Promise<void>): Promise<void> {
  const waiting = [...SONG_VARIANTS.entries()];
  const workThrough = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, variant] = next;
      await work(variant, index).catch((error: unknown) => failures.set(variant.file, error));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, workThrough));
}

/** An overloaded machine leaves gaps in the audio: then it records once more, and keeps the result even with gaps. */
async function recordSteadily(url: string, index: number): Promise<WholeRecording> {
  const options = { daveVersion: index % 2 === 0 ? 1 : 0 } as const;
  const recording = await listener.record(url, options);
  wasStarved ||= recording.isStarved;
  if (recording.missingFrames === 0) return recording;
  process.stderr.write(`${url}: ${recording.missingFrames} frames not sent in time, once more\n`);
  return listener.record(url, options);
}

function takeOf(file: string): Take {
  const take = takes.get(file);
  if (take === undefined) throw failures.get(file);
  return take;
}

/** Judging costs half a second: once per song. */
function verdictOf(file: string): SongVerdict {
  const { reference, recording } = takeOf(file);
  const verdict = verdicts.get(file) ?? judgeSong(reference, recording.audio);
  verdicts.set(file, verdict);
  return verdict;
}

describe.each(SONG_VARIANTS)("$file", (variant) => {
  test("the received audio equals what ffmpeg decodes", () => {
    const { recording } = takeOf(variant.file);
    const verdict = verdictOf(variant.file);
    expect(verdict.signalToNoiseDb).toBeGreaterThan(25);
    expect(verdict.worstMomentDb, `at ${verdict.worstMomentMs} ms`).toBeGreaterThan(15);
    expect(Math.abs(verdict.levelDb)).toBeLessThan(0.5);
    expect(Math.abs(verdict.pitchCents)).toBeLessThan(2);
    expect(verdict).toMatchObject({ gapCount: 0, clickCount: 0 });
    if (!recording.isStarved) expect(recording.missingFrames).toBe(0);
  });

  test("the received audio has the right start and end", () => {
    const { reference, recording } = takeOf(variant.file);
    const { delayMs } = verdictOf(variant.file);
    expect(Math.abs(delayMs)).toBeLessThan(variant.delayMsMax ?? 1);
    // ffmpeg plays the encoder's padding at the end where the container does not say how much it is, and sometimes
    // though.
    const referenceMs = reference.left.length / SAMPLES_PER_MS;
    const receivedMs = recording.audio.left.length / SAMPLES_PER_MS;
    expect(receivedMs).toBeGreaterThan(Math.min(referenceMs, LENGTH_MS) - (variant.beyondEndMs ?? 0) - 1);
    expect(receivedMs).toBeLessThan(Math.max(referenceMs, LENGTH_MS) + FRAME_MS + 0.5);
  });

  test("the file loads with its title, author and length", () => {
    const { load } = takeOf(variant.file);
    expect(load.loadType).toBe("track");
    const { info } = load.data as { readonly info: TrackFacts }; // as the load type says
    if (variant.encode.includes(TAGS)) expect(info).toMatchObject({ title: "Song", author: "Singer" });
    expect(info.isStream).toBe(false);
    expect(Math.abs(info.length - LENGTH_MS)).toBeLessThan(LENGTH_TOLERANCE_MS);
  });
});

test("nothing was sent that Discord would refuse", () => {
  // A stop may be interrupted as well where songs were.
  env.discord.assertClean({ except: wasStarved ? ["rtp-lost", "silence-missing"] : ["rtp-lost"] });
});
