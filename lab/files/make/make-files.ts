// `npm run lab -- files --make FOLDER`: a few hundred small files of the kinds that collections have, made by ffmpeg and
// our own writers, and what is right about them in expected.json. Lab only.

import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { isLike } from "../known-failures.ts";
import { LOSSLESS_FILES } from "./lossless-files.ts";
import { type MadeFile, SECONDS, soundExpression } from "./made-file.ts";
import { MP3_FILES } from "./mp3-files.ts";
import { MP4_FILES } from "./mp4-files.ts";
import { OTHER_FILES } from "./other-files.ts";

const ALL: readonly MadeFile[] = [...MP3_FILES, ...LOSSLESS_FILES, ...MP4_FILES, ...OTHER_FILES];
const FFMPEG_TIMEOUT_MS = 60_000;

interface MakeOptions {
  /** Patterns, separated by commas. Default: all. */
  readonly only?: string | undefined;
  /** ffmpegs at once. */
  readonly jobs: number;
}

/** Makes the files below `folder`; one that cannot be made (an ffmpeg without its encoder) is a line of `failures`. */
export async function makeFiles(
  folder: string,
  { only, jobs }: MakeOptions,
): Promise<{ readonly fileCount: number; readonly failures: readonly string[] }> {
  const wanted = ALL.filter(({ file }) => only?.split(",").some((pattern) => isLike(file, pattern)) ?? true);
  const waiting = [...wanted];
  const failures: string[] = [];
  const workThrough = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await makeFile(folder, next).catch(async (error: unknown) => {
        failures.push(`${next?.file}: ${error instanceof Error ? error.message : error}`);
        await rm(join(folder, next?.file ?? ""), { force: true });
      });
    }
  };
  await mkdir(folder, { recursive: true });
  await Promise.all(Array.from({ length: jobs }, workThrough));
  const expected = wanted.flatMap(({ file, expected }) => (expected === undefined ? [] : [[file, expected] as const]));
  await writeFile(join(folder, "expected.json"), `${JSON.stringify(Object.fromEntries(expected), undefined, 2)}\n`);
  return { fileCount: wanted.length - failures.length, failures };
}

async function makeFile(folder: string, made: MadeFile): Promise<void> {
  const path = join(folder, made.file);
  await mkdir(dirname(path), { recursive: true });
  if (made.make !== undefined) return writeFile(path, await made.make());
  await encode(dirname(path), { ...made, output: made.output ?? basename(path) });
  if (made.finish !== undefined) await writeFile(path, made.finish(await readFile(path)));
}

async function encode(
  cwd: string,
  { encode: args = "", rateHz = 44_100, layout = "stereo", output = "" }: MadeFile,
): Promise<void> {
  const source = `aevalsrc='${soundExpression(layout)}':c=${layout}:s=${rateHz}:d=${SECONDS}`;
  const input = ["-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source];
  await promisify(execFile)("ffmpeg", [...input, ...args.split(" "), output], { cwd, timeout: FFMPEG_TIMEOUT_MS });
}
