// The command line of `npm run bench -- encoder` (`opus-encoder-lab` in the package) with its four modes: listening,
// cost, seams, many frames. Lab only.

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { CannotRun } from "../../lab/cannot-run.ts";
import { measureCost, measureFirstFrames, measureFreshProcesses } from "./cost.ts";
import type { Stereo } from "./ear-model.ts";
import { type EncoderKind, encoderKindOf } from "./encoders.ts";
import { type BadFrame, runExactly } from "./exact-run.ts";
import { type JudgedExcerpt, type ListeningPlan, listenThrough } from "./listening.ts";
import { decodeExcerpt, drawExcerpts } from "./music.ts";
import {
  comparisonTable,
  costTable,
  firstFramesTable,
  scoreTable,
  seamTable,
  sharedRateLine,
  worstLines,
} from "./report.ts";
import { compareSeams } from "./seams.ts";

const helpOf = (command: string): string => `Measures how audible the artefacts of an Opus encoder are in music.

  ${command} --music FOLDER [--encoder NAME] [--against NAME,NAME]

  --music FOLDER      files that ffmpeg reads, also in subfolders
  --encoder NAME      the judged encoder: tonearm (default), or libopus:0 to libopus:10
  --against NAMES     encoders to compare it with, at the same rate; default libopus:5,libopus:10
  --bitrates KBIT/S   default 64,96,128,192
  --excerpts N        default 60
  --seconds N         length of each excerpt, default 8
  --seed N            seed of the choice of excerpts, default 1
  --quick             16 excerpts of 4 s at 64 and 128 kbit/s
  --json FILE         write all judgements, after each excerpt
  --reuse FILE        reuse judgements of other encoders on the same excerpts from such a file

  --cost              measure CPU per frame instead, against libopus:10, and the first frames of a process
  --rounds N          rounds of --cost, default 200

  --seams             measure errors where packets of libopus follow frames of the encoder

  --frames N          encode N frames of hard signals instead, half of them music with --music: every packet must be
                      valid, and every final range libopus's
  --help              this text
`;

/** Supplied by the caller. */
interface EncoderCommandContext {
  /** For the help text: the command line that runs this program, without its arguments. */
  readonly command: string;
  /** The file that this process runs: fresh processes run it too. */
  readonly program: string;
  write(text: string): void;
  writeError(text: string): void;
}

interface RunSelection {
  readonly music: string | undefined;
  readonly encoder: EncoderKind;
  readonly against: readonly EncoderKind[];
  readonly bitratesBps: readonly number[];
  readonly excerptCount: number;
  readonly seconds: number;
  readonly seed: number;
  readonly rounds: number;
  readonly frames: number;
  readonly json: string | undefined;
  readonly reuse: string | undefined;
}

const UNIT = "libopus:10";
const FRESH_PROCESSES = 7;
/** Music among the hard signals of many frames, and the music that the cost is measured with. */
const EXACT_EXCERPTS = 20;
const COST_EXCERPTS = 12;
const SEAM_EXCERPTS = 24;
const EXCERPT_SECONDS = 10;
/** A fault of one frame often affects many. */
const BAD_FRAMES_REPORTED_MAX = 20;
const PROGRESS_FRAMES = 50_000;

/** Resolves with the exit status: 1 when a frame was bad, 2 for invalid arguments or without libopus or ffmpeg. */
export async function encoderCommand(args: readonly string[], context: EncoderCommandContext): Promise<number> {
  let selection: ReturnType<typeof readSelection>;
  try {
    selection = readSelection(args);
  } catch (error) {
    context.writeError(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
  try {
    return await run(selection, context);
  } catch (error) {
    context.writeError(`${adviceOn(error)}\n`);
    return 2;
  }
}

/** The message for a user who has to do something first. Throws any other error. */
function adviceOn(error: unknown): string {
  if (error instanceof CannotRun) return error.message;
  if ((error as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
  return "the lab compares with libopus: npm install libopus-wasm@0.2.0";
}

async function run(
  selection: RunSelection & { readonly mode: string },
  context: EncoderCommandContext,
): Promise<number> {
  const say = (...lines: readonly string[]): void => context.write(`${lines.join("\n")}\n`);
  if (selection.mode === "help") say(helpOf(context.command));
  else if (selection.mode === "first-frames") say(JSON.stringify(await measureFirstFrames(selection.encoder.name)));
  else if (selection.mode === "cost") await reportCost(selection, context, say);
  else if (selection.mode === "seams") await reportSeams(selection, say);
  else if (selection.mode === "frames") return await reportExact(selection, context, say);
  else await reportQuality(selection, say);
  return 0;
}

function readSelection(args: readonly string[]): RunSelection & { readonly mode: string } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      music: { type: "string" },
      encoder: { type: "string", default: "tonearm" },
      against: { type: "string", default: "libopus:5,libopus:10" },
      bitrates: { type: "string" },
      excerpts: { type: "string" },
      seconds: { type: "string" },
      seed: { type: "string", default: "1" },
      quick: { type: "boolean", default: false },
      json: { type: "string" },
      reuse: { type: "string" },
      cost: { type: "boolean", default: false },
      rounds: { type: "string", default: "200" },
      seams: { type: "boolean", default: false },
      frames: { type: "string", default: "0" },
      "first-frames": { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const { quick, help, cost, seams } = values;
  const first = values["first-frames"];
  const frames = readNumber("frames", values.frames);
  const modes = { help, "first-frames": first !== undefined, cost, seams, frames: frames > 0, quality: true };
  const [mode = "quality"] = Object.entries(modes).find(([, isSelected]) => isSelected) ?? [];
  const selection = {
    mode,
    music: values.music,
    encoder: encoderKindOf(first ?? values.encoder),
    against: values.against.split(",").map(encoderKindOf),
    bitratesBps: (values.bitrates ?? (quick ? "64,128" : "64,96,128,192"))
      .split(",")
      .map((text) => 1000 * readNumber("bitrates", text)),
    excerptCount: readNumber("excerpts", values.excerpts ?? (quick ? "16" : "60")),
    seconds: readNumber("seconds", values.seconds ?? (quick ? "4" : "8")),
    seed: readNumber("seed", values.seed),
    rounds: readNumber("rounds", values.rounds),
    frames,
    json: values.json,
    reuse: values.reuse,
  };
  if (["quality", "cost", "seams"].includes(mode) && selection.music === undefined) {
    throw new Error("say where music is: --music FOLDER");
  }
  return selection;
}

function readNumber(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) throw new Error(`--${name} is "${text}", no number`);
  return value;
}

async function reportQuality(selection: RunSelection, say: (...lines: string[]) => void): Promise<void> {
  const { encoder, against, bitratesBps } = selection;
  const excerpts: JudgedExcerpt[] = [];
  for await (const excerpt of listenThrough(planOf(selection))) {
    excerpts.push(excerpt);
    say(`${excerpt.file} from ${excerpt.startSeconds} s: ${excerpt.classes.join(", ")}`);
    // Written each time: an interrupted run keeps its results.
    if (selection.json !== undefined) writeFileSync(selection.json, JSON.stringify(excerpts));
  }
  if (excerpts.length === 0) throw new Error("nothing but silence was found");
  say("", scoreTable(excerpts));
  for (const { name } of against) {
    if (name === encoder.name) continue;
    say("", `${encoder.name} against ${name}, each excerpt at the same rate; below 0 is better`);
    for (const targetBps of bitratesBps) {
      const pair = { encoder: encoder.name, against: name, targetBps };
      say("", comparisonTable(excerpts, pair), "");
      say(sharedRateLine(excerpts, pair), "  worst:", ...worstLines(excerpts, pair));
    }
  }
}

function planOf(selection: RunSelection): ListeningPlan {
  const { music = "", encoder, against, bitratesBps, excerptCount, seconds, seed, reuse } = selection;
  // The other's curve of score by rate needs two points.
  const [only = 0] = bitratesBps;
  const curveBps = bitratesBps.length > 1 ? bitratesBps : [0.92 * only, only, 1.08 * only].map(Math.round);
  const others = against.filter(({ name }) => name !== encoder.name);
  return {
    folder: music,
    excerptCount,
    seconds,
    seed,
    encoders: [
      { kind: encoder, targetsBps: bitratesBps, isJudgedAgain: true },
      ...others.map((kind) => ({ kind, targetsBps: curveBps, isJudgedAgain: false })),
    ],
    // Written by `--json`, as the operator states.
    judgedBefore: reuse === undefined ? [] : (JSON.parse(readFileSync(reuse, "utf8")) as JudgedExcerpt[]),
  };
}

async function reportCost(
  { music = "", encoder, against, bitratesBps, rounds, seed }: RunSelection,
  { program }: EncoderCommandContext,
  say: (...lines: string[]) => void,
): Promise<void> {
  const names = new Set([UNIT, encoder.name, ...against.map(({ name }) => name)]);
  const kinds = Array.from(names, encoderKindOf);
  const audio = joined(musicFor(music, COST_EXCERPTS, seed));
  for (const bitrateBps of bitratesBps) {
    say("", `${bitrateBps / 1000} kbit/s, ${rounds} rounds`, "");
    say(costTable(await measureCost(kinds, { music: audio, bitrateBps, rounds })));
  }
  const fresh = kinds.map(({ name }) => [name, measureFreshProcesses(program, name, FRESH_PROCESSES)] as const);
  say("", firstFramesTable(new Map(fresh)));
}

async function reportSeams(
  { music = "", encoder, seed }: RunSelection,
  say: (...lines: string[]) => void,
): Promise<void> {
  say(seamTable(await compareSeams(musicFor(music, SEAM_EXCERPTS, seed), encoder)));
}

async function reportExact(
  { music, encoder, frames, seed }: RunSelection,
  { writeError }: EncoderCommandContext,
  say: (...lines: string[]) => void,
): Promise<number> {
  let badFrames = 0;
  let reportedFrames = 0;
  const onBad = (bad: BadFrame): void => {
    badFrames += 1;
    if (badFrames <= BAD_FRAMES_REPORTED_MAX) writeError(`${encoder.name}, seed ${seed}: ${JSON.stringify(bad)}\n`);
  };
  const onProgress = (done: number): void => {
    if (done < reportedFrames + PROGRESS_FRAMES) return;
    reportedFrames = done;
    writeError(`${done} frames of ${encoder.name}, ${badFrames} bad\n`);
  };
  const audio = music === undefined ? [] : musicFor(music, EXACT_EXCERPTS, seed);
  const run = await runExactly({ kind: encoder, frameCount: frames, seed, music: audio, onBad, onProgress });
  say(JSON.stringify({ ...run, badFrames }, undefined, 2));
  return badFrames === 0 ? 0 : 1;
}

function musicFor(folder: string, count: number, seed: number): Stereo[] {
  return drawExcerpts(folder, { count, lengthSeconds: EXCERPT_SECONDS, seed }).map((excerpt) =>
    decodeExcerpt(folder, excerpt, EXCERPT_SECONDS),
  );
}

function joined(parts: readonly Stereo[]): Stereo {
  const length = parts.reduce((sum, [left]) => sum + left.length, 0);
  const whole = [new Float32Array(length), new Float32Array(length)] as const;
  let at = 0;
  for (const [left, right] of parts) {
    whole[0].set(left, at);
    whole[1].set(right, at);
    at += left.length;
  }
  return whole;
}
