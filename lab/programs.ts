// The programs behind `npm run bench -- NAME` and `npm run lab -- NAME` in a checkout, and behind `tonearm-lab NAME` of
// the package `@tonearm/lab`; and the choice of one by name. Lab only.

import { existsSync } from "node:fs";

/** One program of the lab. */
interface LabProgram {
  /** Path from the folder of this file, without its extension. */
  readonly module: string;
  /** Arguments before those of the caller. */
  readonly args?: readonly string[];
  /** For the list: a line of at most 90 characters. */
  readonly summary: string;
}

/** Programs by the names that are typed. */
type LabPrograms = Readonly<Record<string, LabProgram>>;

const BENCH: LabPrograms = {
  compare: {
    module: "bench/compare/main",
    summary: "a node under the loads that bots make, alone or in alternating rounds with another one",
  },
  codecs: { module: "bench/codecs", summary: "CPU of decoders, resampler and encoder" },
  sources: { module: "bench/sources", summary: "how failing sites and plugins affect the other players" },
  overload: {
    module: "bench/overload",
    summary: "more players than the machine can carry, with and without load control",
  },
  filters: { module: "bench/filters", summary: "CPU of each filter" },
  kernels: {
    module: "bench/kernels",
    summary: "the WebAssembly loops of this build against those of another checkout",
  },
  dave: { module: "bench/dave", summary: "CPU of end-to-end encryption" },
  "codec-loading": { module: "bench/codec-loading", summary: "how late packets are while a codec is loaded" },
  state: { module: "bench/state", summary: "how long a write to the stored state takes" },
  encoder: { module: "../opus-encoder/lab/main", summary: "audible artefacts and CPU cost of an Opus encoder" },
};

const LAB: LabPrograms = {
  conformance: { module: "conformance/main", summary: "checks any v4 node against the rules of the protocol" },
  simulate: { module: "simulate/main", summary: "whole nodes in virtual time, with faults drawn from a seed" },
  isolation: {
    module: "isolation/main",
    summary: "hostile files, sites and clients on a node while other players play",
  },
  restart: {
    module: "restart/main",
    summary: "a node that is killed and started again: what was asked for, events, gaps in audio",
  },
  cluster: {
    module: "cluster/main",
    summary: "machines that share their sessions, of which one is killed, ended or paused",
  },
  chaos: {
    module: "chaos/main",
    summary: "machines and NATS servers killed, paused and cut off at random while players play",
  },
  files: {
    module: "files/main",
    summary: "any folder of media files: load, title, length, audio and a seek against ffmpeg",
  },
  "encoder-exact": {
    module: "../opus-encoder/lab/main",
    args: ["--frames", "100000"],
    summary: "every packet of the Opus encoder against the decoder of libopus",
  },
};

/** The commands that run a program by its name. */
export const COMMANDS: Readonly<Record<string, LabPrograms>> = {
  bench: BENCH,
  lab: LAB,
  "tonearm-lab": { ...LAB, ...BENCH },
};

/** This file is compiled to dist/lab; only in the package is the program `tonearm-lab` beside dist. */
const IS_PACKAGE = existsSync(new URL("../../bin/tonearm-lab.js", import.meta.url));

/** For help texts: the command that starts a node. */
export const NODE_COMMAND = IS_PACKAGE ? "npx --no tonearm" : "npm start";

/** For help texts: the command line that runs a program, without its arguments. */
export function typedCommand(name: string, isPackage = IS_PACKAGE): string {
  if (isPackage) return `tonearm-lab ${name}`;
  return `${inFront(Object.hasOwn(BENCH, name) ? "bench" : "lab")}${name}`;
}

/** A program with its whole command line, or the list of programs with the exit status. */
type Choice =
  | { readonly module: string; readonly args: readonly string[] }
  | { readonly text: string; readonly status: number };

/**
 * Takes the arguments after `npm run bench --`, `npm run lab --` or `tonearm-lab`: the name of a program, then its
 * arguments. Without a name, or with an unknown one, the choice is the list and status 2; with `--help`, the list and
 * status 0.
 */
export function chooseProgram(command: string, [name, ...args]: readonly string[]): Choice {
  const programs = COMMANDS[command] ?? {};
  const list = listOf(command, programs);
  if (name === undefined) return { text: list, status: 2 };
  if (name === "--help" || name === "-h") return { text: list, status: 0 };
  const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
  if (program === undefined) return { text: `there is no program "${name}"\n\n${list}`, status: 2 };
  return { module: program.module, args: [...(program.args ?? []), ...args] };
}

function listOf(command: string, programs: LabPrograms): string {
  const width = Math.max(...Object.keys(programs).map((name) => name.length));
  const lines = Object.entries(programs).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}\n`);
  return `${inFront(command)}NAME [options]\n\n${lines.join("")}`;
}

/** The beginning of a command line, in front of a program's name. */
function inFront(command: string): string {
  return command === "tonearm-lab" ? `${command} ` : `npm run ${command} -- `;
}
