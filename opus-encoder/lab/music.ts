// Excerpts of the music in a folder: drawn by a seed, the same each time. Decoded by ffmpeg. Lab only.

import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { CannotRun } from "../../lab/cannot-run.ts";
import { seededRandom } from "../../lab/seeded-random.ts";
import { SAMPLE_RATE_HZ } from "../../src/media/format/audio-format.ts";
import type { Stereo } from "./ear-model.ts";

const MUSIC_FILE = /\.(?:ogg|oga|opus|flac|mp3|m4a|wav)$/i;
const FILES_MAX = 10_000;
const FFMPEG_TIMEOUT_MS = 60_000;
const DECODED_BYTES_MAX = 256 * 1024 * 1024;

/** A part of a file. */
export interface Excerpt {
  /** Path below the folder. */
  readonly file: string;
  readonly startSeconds: number;
}

/** How many, how long (with lead-in and tail), and the seed of the choice. */
interface ExcerptPlan {
  readonly count: number;
  readonly lengthSeconds: number;
  readonly seed: number;
}

/** Files one after the other in a random order, each at a random position; shorter files are skipped. */
export function drawExcerpts(folder: string, { count, lengthSeconds, seed }: ExcerptPlan): Excerpt[] {
  const random = seededRandom(seed);
  const files = shuffled(musicFilesIn(folder), random);
  const lengths = new Map<string, number>();
  const excerpts: Excerpt[] = [];
  for (let index = 0; excerpts.length < count; index++) {
    const file = files[index % files.length];
    if (file === undefined) throw new CannotRun(`there is no music in ${folder}`);
    const fraction = random();
    const fileSeconds = lengths.get(file) ?? secondsOf(join(folder, file));
    lengths.set(file, fileSeconds);
    const slackSeconds = fileSeconds - lengthSeconds;
    if (slackSeconds >= 0) excerpts.push({ file, startSeconds: Math.round(fraction * slackSeconds * 100) / 100 });
    else if (index >= files.length && excerpts.length === 0) throw new Error("all files are shorter than an excerpt");
  }
  return excerpts;
}

/** 48 kHz stereo; a mono file is on both sides. */
export function decodeExcerpt(folder: string, { file, startSeconds }: Excerpt, lengthSeconds: number): Stereo {
  const from = ["-ss", String(startSeconds), "-t", String(lengthSeconds), "-i", join(folder, file)];
  const to = ["-map", "a:0", "-ac", "2", "-ar", String(SAMPLE_RATE_HZ), "-f", "f32le", "-"];
  const bytes = run("ffmpeg", ["-nostdin", "-v", "error", ...from, ...to]);
  const sampleCount = Math.floor(bytes.length / 8);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const channel = (offset: number): Float32Array =>
    Float32Array.from({ length: sampleCount }, (_, sample) => view.getFloat32(8 * sample + offset, true));
  return [channel(0), channel(4)];
}

function musicFilesIn(folder: string): string[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && MUSIC_FILE.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  if (found.length > FILES_MAX) throw new Error(`${folder} holds more than ${FILES_MAX} files`);
  return found.toSorted();
}

function secondsOf(path: string): number {
  const entries = ["-show_entries", "format=duration", "-of", "default=nokey=1:noprint_wrappers=1"];
  const seconds = Number.parseFloat(run("ffprobe", ["-v", "error", ...entries, path]).toString());
  return Number.isFinite(seconds) ? seconds : 0;
}

function run(program: string, args: readonly string[]): Buffer {
  try {
    return execFileSync(program, args, {
      maxBuffer: DECODED_BYTES_MAX,
      timeout: FFMPEG_TIMEOUT_MS,
      stdio: ["ignore", "pipe", "inherit"],
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new CannotRun(`--music needs ${program}, which was not found: install ffmpeg`, { cause: error });
  }
}

function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  const result = [...values];
  for (let index = result.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1));
    [result[index], result[other]] = [result[other]!, result[index]!];
  }
  return result;
}
