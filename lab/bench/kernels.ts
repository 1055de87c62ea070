// Checks whether the audio loops of this build are as fast as those of another one, and give the same bits: both in one
// process, alternating, so that other load affects both. `npm run bench -- kernels ../other-checkout`, which must have
// been built.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type * as distortion from "../../src/media/kernels/distortion-kernel.ts";
import type * as equalizer from "../../src/media/kernels/equalizer-kernel.ts";
import type * as loudness from "../../src/media/kernels/loudness-kernel.ts";
import type * as modulatedDelay from "../../src/media/kernels/modulated-delay-kernel.ts";
import type * as phaser from "../../src/media/kernels/phaser-kernel.ts";
import type * as resampler from "../../src/media/kernels/resampler-kernel.ts";
import type * as reverb from "../../src/media/kernels/reverb-kernel.ts";
import type * as search from "../../src/media/kernels/timescale-search-kernel.ts";
import type * as vibrato from "../../src/media/kernels/vibrato-kernel.ts";
import { CannotRun } from "../cannot-run.ts";
import { quantile } from "../report/statistics.ts";

const ROUNDS = 101;
const WARM_UP_RUNS = 2000;
/** Short rounds, so that both see the same machine. */
const ROUND_MS = 1;
/** Folders of loops, below src/media. */
const FOLDERS = ["kernels", "filters", "decode", "loudness"];
const SAMPLES = 960;

/** One loop with its input; returns its results. */
interface Work {
  run(): void;
  readonly results: readonly Float32Array[];
}

const LEFT = Float32Array.from({ length: 4096 }, (_, at) => 0.4 * Math.sin(at * 0.05) + 0.2 * Math.sin(at * at * 1e-4));
const RIGHT = LEFT.map((value, at) => 0.7 * value + 0.1 * Math.sin(at * 0.31));
const INPUT = { left: LEFT.subarray(0, SAMPLES), right: RIGHT.subarray(0, SAMPLES) };

/** A loop that works in place; its input is restored before each call. */
function inPlace(kernel: { readonly left: Float32Array; readonly right: Float32Array }, run: () => void): Work {
  return {
    run: () => {
      kernel.left.set(INPUT.left);
      kernel.right.set(INPUT.right);
      run();
    },
    results: [kernel.left.subarray(0, SAMPLES), kernel.right.subarray(0, SAMPLES)],
  };
}

function equalizerWork({ EqualizerKernel }: typeof equalizer): Work {
  const kernel = new EqualizerKernel();
  for (let band = 0; band < 15; band++) kernel.state.set([1.9, 1.9, 0.95, 0.95, 0.01, 0.01], band * 10);
  return inPlace(kernel, () => kernel.run(SAMPLES, 5));
}

function distortionWork({ DistortionKernel }: typeof distortion): Work {
  const kernel = new DistortionKernel();
  const [sine, cosine] = [
    { sinOffset: 0, sinScale: 2 },
    { cosOffset: 0, cosScale: 1 },
  ];
  const table = kernel.makeTable({ ...sine, ...cosine, tanOffset: 0, tanScale: 1, offset: 0.2, scale: 5 });
  const { run, results } = inPlace(kernel, () => kernel.run(table, SAMPLES));
  return { run, results: [...results, table] };
}

function modulatedDelayWork({ ModulatedDelayKernel, STILL }: typeof modulatedDelay): Work {
  const kernel = new ModulatedDelayKernel({ previous: undefined });
  const drive = { centre: 500, swing: 300, feedback: 0.5, input: 1 };
  const oscillator = { sine: 0.5, cosine: Math.sqrt(0.75), stepSine: Math.sin(1e-4), stepCosine: Math.cos(1e-4) };
  return inPlace(kernel, () => kernel.run(0, SAMPLES, { oscillator, drive, step: STILL, mix: 0.5 }));
}

function phaserWork({ PhaserKernel }: typeof phaser): Work {
  const kernel = new PhaserKernel();
  const steps = { leftStep: 1e-6, rightStep: 1e-6, feedbackStep: 0 };
  return inPlace(kernel, () => kernel.run(0, SAMPLES, { left: 0.3, right: -0.2, feedback: 0.5, ...steps, mix: 0.5 }));
}

function reverbWork({ ReverbKernel }: typeof reverb): Work {
  const kernel = new ReverbKernel({ previous: undefined });
  const shares = Array.from({ length: 8 }, (_, line) => 0.3 - line * 0.01);
  return inPlace(kernel, () =>
    kernel.run(0, SAMPLES, { shares, keep: 0.15, input: 1, dry: 0.7, wet: 0.2, cross: 0.1 }),
  );
}

function vibratoWork({ VibratoKernel }: typeof vibrato): Work {
  const kernel = new VibratoKernel();
  kernel.left.set(LEFT.subarray(0, kernel.left.length));
  kernel.right.set(RIGHT.subarray(0, kernel.right.length));
  const run = () => kernel.run(SAMPLES, 54, 40, 0.5, Math.sqrt(0.75), Math.sin(1e-3), Math.cos(1e-3));
  return { run, results: [kernel.output.left, kernel.output.right] };
}

function searchWork({ TimescaleSearchKernel }: typeof search): Work {
  const kernel = new TimescaleSearchKernel();
  const comparison = { here: 10, there: 500, length: 640, count: 150 };
  return {
    run: () => kernel.compare({ left: LEFT, right: RIGHT }, comparison),
    results: [kernel.products.subarray(0, 150)],
  };
}

function resamplerWork({ ResamplerKernel }: typeof resampler, rateHz: number): Work {
  const kernel = new ResamplerKernel(rateHz);
  while (kernel.fillRow());
  kernel.inputLeft.set(LEFT);
  kernel.inputRight.set(RIGHT);
  return { run: () => kernel.run(7, SAMPLES), results: [kernel.outputLeft, kernel.outputRight] };
}

/** `limit`: the level above which the loop inspects the audio closely. */
function loudnessWork({ LoudnessKernel }: typeof loudness, limit: number): Work {
  const kernel = new LoudnessKernel();
  kernel.gains.fill(0.01);
  kernel.left.set(LEFT.subarray(0, kernel.left.length));
  kernel.right.set(RIGHT.subarray(0, kernel.right.length));
  const run = () => {
    kernel.sanitize(32, SAMPLES);
    kernel.weigh(32, SAMPLES);
    kernel.findPeaks(32, SAMPLES / 16, limit);
    kernel.scale(32, SAMPLES, 3);
  };
  return { run, results: [kernel.leftOut, kernel.rightOut, kernel.peaks] };
}

interface Bench {
  readonly name: string;
  readonly file: string;
  /** Gets the file's module. */
  readonly create: (module: never) => Work;
}

const BENCHES: readonly Bench[] = [
  { name: "equalizer, 15 bands", file: "equalizer", create: equalizerWork },
  { name: "distortion", file: "distortion", create: distortionWork },
  { name: "chorus, flanger", file: "modulated-delay", create: modulatedDelayWork },
  { name: "phaser", file: "phaser", create: phaserWork },
  { name: "reverb", file: "reverb", create: reverbWork },
  { name: "vibrato", file: "vibrato", create: vibratoWork },
  { name: "timescale: search", file: "timescale-search", create: searchWork },
  { name: "resampler, 44.1 kHz", file: "resampler", create: (module) => resamplerWork(module, 44_100) },
  { name: "resampler, 47999 Hz (interpolated)", file: "resampler", create: (module) => resamplerWork(module, 47_999) },
  { name: "loudness, soft", file: "loudness", create: (module) => loudnessWork(module, 3) },
  { name: "loudness, at the ceiling", file: "loudness", create: (module) => loudnessWork(module, 0) },
];

async function load(project: URL, file: string): Promise<never> {
  const candidates = FOLDERS.map((folder) => new URL(`dist/src/media/${folder}/${file}-kernel.js`, project));
  const found = candidates.find((url) => existsSync(url));
  if (found === undefined)
    throw new Error(`${project.pathname} has no built loop ${file}: run \`npm run build\` there`);
  // The same file of either build; each work takes the exports it knows.
  return (await import(found.href)) as never;
}

function timeMs(run: () => void, times: number): number {
  const start = performance.now();
  for (let time = 0; time < times; time++) run();
  return (performance.now() - start) / times;
}

function isSame(mine: readonly Float32Array[], theirs: readonly Float32Array[]): boolean {
  const bytes = (audio: Float32Array | undefined) => Buffer.from(Float32Array.from(audio ?? []).buffer);
  return mine.every((audio, index) => bytes(audio).equals(bytes(theirs[index])));
}

function compare(name: string, mine: Work, theirs: Work): void {
  timeMs(mine.run, WARM_UP_RUNS);
  timeMs(theirs.run, WARM_UP_RUNS);
  const equality = isSame(mine.results, theirs.results) ? "same bits" : "OTHER BITS";
  const times = Math.ceil(ROUND_MS / timeMs(mine.run, 20));
  const [own, other]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    if (round % 2 === 0) own.push(timeMs(mine.run, times));
    other.push(timeMs(theirs.run, times));
    if (round % 2 === 1) own.push(timeMs(mine.run, times));
  }
  const ratio = quantile(
    own.map((value, round) => value / other[round]!),
    0.5,
  );
  const best = Math.min(...own) / Math.min(...other);
  const columns = [(1000 * Math.min(...own)).toFixed(2), ratio.toFixed(3), best.toFixed(3)].map((text) =>
    text.padStart(9),
  );
  console.log(`${name.padEnd(36)}${columns.join("")}  ${equality}`);
}

const [otherProject] = process.argv.slice(2);
if (otherProject === undefined)
  throw new CannotRun("name the other checkout to compare with, built with `npm run build`");
const projects = [new URL("../../../", import.meta.url), pathToFileURL(`${resolve(otherProject)}/`)] as const;
console.log(`${"a frame of 20 ms".padEnd(36)}  best µs  to other   of best`);
for (const { name, file, create } of BENCHES) {
  const [mine, theirs] = [create(await load(projects[0], file)), create(await load(projects[1], file))];
  compare(name, mine, theirs);
}
