// `npm run lab -- files`: its verdict on files of many kinds that it makes itself, all right but those of a list; and on
// files that are wrong on purpose, to show that it notices.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SECONDS, soundSamples } from "../../../lab/files/make/made-file.ts";
import { makeFiles } from "../../../lab/files/make/make-files.ts";
import { writeWav } from "../../../lab/listen/wav.ts";

const PROGRAM = fileURLToPath(new URL("../../../dist/lab/main.js", import.meta.url));
const KNOWN = fileURLToPath(new URL("known-failures.txt", import.meta.url));
/** Some of each format, and the kinds of which most has been wrong. */
const SUBSET = [
  "mp3/vbr-2.mp3,mp3/cbr-bare.mp3,mp3/damaged.mp3,mp3-tags/id3v23*,mp3-tags/ape-large-behind.mp3",
  "flac/24-bit-96000.flac,flac/depth-*,flac/behind-id3.flac,flac/no-total.flac,flac/damaged-6000.flac",
  "wav/24*,wav/u8-mono.wav,wav/7-1.wav,wav/mp3.wav,wav/data-size-max.wav,aiff/s16be.aiff,mov-pcm/pcm_s16le.mov",
  "mp4/44100.m4a,mp4/aac-5-1-side.m4a,mp4-times/*,mp4-fragments/no-empty-moov.mp4,mp4-fragments/dash.mp4",
  "ogg/vorbis-5-1.ogg,ogg/opus-60-ms.opus,ogg/opus-starts-at-5h.opus,ogg/flac*,matroska/live.webm",
  "matroska/album*,mpegts/aac*,adts/44100.aac,hls/ts/*,refused/wma.wma",
].join(",");
const RATE_HZ = 48_000;

interface Report {
  readonly verdicts: readonly { readonly file: string }[];
  readonly failures: readonly {
    readonly file: string;
    readonly check: string;
    readonly cause: string;
    reason?: string;
  }[];
  readonly stale: readonly { readonly pattern: string }[];
}

const folder = mkdtempSync(join(tmpdir(), "tonearm-files-"));
const made = join(folder, "made");
const wrong = join(folder, "wrong");

beforeAll(async () => {
  const { failures } = await makeFiles(made, { only: SUBSET, jobs: 2 });
  expect(failures).toEqual([]);
  await makeWrongFiles();
});

afterAll(() => rmSync(folder, { recursive: true }));

function run(target: string, ...args: string[]): { status: number | null; output: string; report: Report } {
  const json = join(folder, "report.json");
  const common = ["--timeout", "300", "--json", json];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [PROGRAM, "lab", "files", target, ...common, ...args],
    {
      encoding: "utf8",
    },
  );
  return { status, output: stdout + stderr, report: JSON.parse(readFileSync(json, "utf8")) };
}

/** Named by what is wrong. Their reference is right.wav, if it is not in their names. */
async function makeWrongFiles(): Promise<void> {
  mkdirSync(wrong);
  const song = [soundSamples(0, RATE_HZ), soundSamples(1, RATE_HZ)] as const;
  const write = (name: string, change: (samples: Float32Array) => Float32Array) =>
    writeWav(join(wrong, name), { left: change(song[0]), right: change(song[1]), sampleRateHz: RATE_HZ });
  const without = (fromMs: number, untilMs: number) => (samples: Float32Array) =>
    Float32Array.from([...samples.subarray(0, fromMs * 48), ...samples.subarray(untilMs * 48)]);
  await write("right.wav", (samples) => samples);
  await write("middle.wav", without(1000, 1100));
  await write("end.wav", without(2600, 3000));
  await write("late.wav", (samples) => Float32Array.from([...new Float32Array(48 * 40), ...samples]));
  await write("quiet.wav", (samples) => samples.map((value) => value / 2));
  await write("silent.wav", (samples) => samples.map(() => 0));
  await write("other.wav", (samples) => samples.map((_, index) => Math.sin(index * index * 1e-6) / 3));
  await write("noise.wav", (samples) => samples.map((value, index) => (index % 9600 < 4800 ? value : 0)));
  await write("title.wav", (samples) => samples);
  await write("length.wav", (samples) => samples);
  writeFileSync(join(wrong, "notes.txt"), "no audio\n");
  const audio = ["middle", "end", "late", "quiet", "silent", "other", "noise"];
  const expected = {
    ...Object.fromEntries(audio.map((name) => [`${name}.wav`, { audio: "right.wav" }])),
    "title.wav": { title: "Another song" },
    "length.wav": { lengthMs: SECONDS * 1000 + 100 },
  };
  writeFileSync(join(wrong, "expected.json"), JSON.stringify(expected));
}

test("made files of all kinds come out right by path and over HTTP, but for the known failures", () => {
  const { status, output, report } = run(made, "--known", KNOWN, "--servers", "ranges,no-ranges,no-length");
  expect(report.failures.filter(({ reason }) => reason === undefined)).toEqual([]);
  expect(report.stale, "lines of known-failures.txt that have to be removed").toEqual([]);
  expect(status).toBe(0);
  expect(report.verdicts.length).toBeGreaterThan(50);
  expect(output).toContain("| format | files | loads | title | length | heard right | seeks right |");
  expect(output).toMatch(/^\| MP4 AAC \| \d+ \|/m);
});

test("files that are wrong on purpose fail, each for what is wrong about it", () => {
  const { status, output, report } = run(wrong);
  const causes = (name: string) =>
    Object.fromEntries(
      report.failures.flatMap(({ file, check, cause }) => (file === `${name}.wav` ? [[check, cause]] : [])),
    );
  expect(status).toBe(1);
  expect(output).toContain("1 of 11 files hold no audio that ffmpeg decodes");
  expect(causes("right")).toEqual({});
  expect(causes("middle").heard).toMatch(/^100 ms are missing or inserted in the middle; ends as finished/);
  expect(causes("middle").seeks).toMatch(/^100 ms too late/);
  expect(causes("end").heard).toMatch(/^\d\d % of the audio is heard|^400 ms are missing at the end/);
  expect(causes("late").heard).toMatch(/^it begins 40 ms late/);
  expect(causes("quiet").heard).toMatch(/^-6.0 dB of level/);
  expect(causes("silent").heard).toMatch(/^silence/);
  expect(causes("other").heard).toMatch(/^\d+ % of the audio is heard/);
  expect(causes("other").seeks).toMatch(/^nothing like the target/);
  expect(causes("noise").heard).toMatch(/^\d+ % of the audio is heard/);
  expect(causes("title")).toEqual({ title: "no title" });
  expect(causes("length")).toEqual({ length: "100 ms too short" });
});

test("a list of known failures makes the run succeed, and a line of it that fails no more is reported", () => {
  const known = join(folder, "known.txt");
  writeFileSync(known, "*.wav loads,title,length,heard,seeks made so\nright.wav heard fixed since\n");
  const { status, output, report } = run(wrong, "--known", known, "--only", "right.wav,silent.wav");
  expect(status).toBe(0);
  expect(report.stale).toContainEqual({ pattern: "right.wav", checks: ["heard"], reason: "fixed since" });
  expect(output).toContain("(known: made so)");
  expect(output).toContain("no longer fails: right.wav heard fixed since");
});
