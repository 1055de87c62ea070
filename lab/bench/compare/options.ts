// The arguments of `npm run bench -- compare`, checked before anything starts.

import { statSync } from "node:fs";
import { parseArgs } from "node:util";
import { typedCommand } from "../../programs.ts";
import { ownNode } from "../node-process.ts";
import type { NodePlan } from "./contestant.ts";
import type { Workload } from "./workload.ts";
import { WORKLOADS } from "./workloads.ts";

export interface BenchRunOptions {
  readonly plans: readonly NodePlan[];
  readonly workloads: readonly Workload[];
  readonly rounds: number;
  /** Length of the window of each round. */
  readonly seconds: number;
  /** Time between the first audio of the last player and the window. */
  readonly settleSeconds: number;
  /** Instead of each workload's own number. */
  readonly players: number | undefined;
  readonly requestsPerSecond: number;
  readonly daveVersion: number;
  readonly ramp: { readonly playersMax: number } | undefined;
  readonly mediaRoot: string | undefined;
  readonly jsonPath: string | undefined;
  readonly svgPath: string | undefined;
}

/** Thrown for an invalid argument, with the allowed values in its message; shown to the user without a stack. */
export class WrongArgument extends Error {}

const RAMPED = ["passthrough", "mp3"];
/** What --quick stands for; each can be set otherwise. */
const QUICK = { rounds: "4", seconds: "4", settle: "2" };
const FULL = { rounds: "6", seconds: "10", settle: "4" };
const QUICK_WORKLOADS = "idle,passthrough,mp3,filters";
/** Besides window and settling, on a quiet machine: players join and leave. */
const OVERHEAD_SECONDS = 4;
/** Per workload: nodes and fake Discord start and end. */
const START_SECONDS = 6;
/** Making the songs. */
const MEDIA_SECONDS = 20;
const URL_START = /^https?:\/\//;
const THIS_MACHINE = /^(127\.[\d.]+|localhost|\[::1\])$/;

export const USAGE = `${typedCommand("compare")} [options]
  --against URL|COMMAND  a second node, measured in alternation with ours: a running one on this machine, or a command
                         that starts one and reads Lavalink's environment variables
  --name NAME            its name in the report (other)
  --password TEXT        password of a running node (youshallnotpass)
  --pid NUMBER           its process id, if it cannot be found by its port
  --start-seconds N      time limit for a node to start (60)
  --only NAMES           workloads: ${WORKLOADS.map(({ name }) => name).join(", ")}
  --quick                ${QUICK_WORKLOADS} in ${QUICK.rounds} rounds of ${QUICK.seconds} s: some minutes
  --rounds N             measurements of each node (6: an even number, so that each is first as often)
  --seconds N            length of each measurement (10); --settle N: time before it (4)
  --players N            players of each workload, in place of its default
  --rate N               requests per second of the workload "requests" (3000)
  --ramp                 measure how many players a core carries, in place of rounds (${RAMPED.join(", ")});
                         --ramp-max N: upper limit (4000)
  --no-dave              without end-to-end encryption
  --media FOLDER         has song.webm, song.mp3, song.m4a, song.flac; without it ffmpeg makes them
  --json FILE, --svg FILE`;

export function parseBenchOptions(args: readonly string[]): BenchRunOptions {
  const given = readArguments(args);
  const values = { ...(given.quick ? QUICK : FULL), ...withoutUndefined(given) };
  const number = (name: keyof typeof values, least: number, most: number): number => {
    const value = Number(values[name]);
    if (Number.isFinite(value) && value >= least && value <= most) return value;
    throw new WrongArgument(`--${name} is ${values[name]}, and may be ${least} to ${most}`);
  };
  const startMsMax = number("start-seconds", 0.1, 600) * 1000;
  const other = values.against === undefined ? [] : [planOf(values.against, { ...values, startMsMax })];
  return {
    plans: [{ name: "tonearm", command: { ...ownNode(), startMsMax } }, ...other],
    workloads: selectedWorkloads(values.only ?? defaultNames(values), values.ramp),
    rounds: number("rounds", 1, 100),
    seconds: number("seconds", 0.5, 300),
    settleSeconds: number("settle", 0, 60),
    players: values.players === undefined ? undefined : number("players", 1, 10_000),
    requestsPerSecond: number("rate", 1, 100_000),
    daveVersion: values["no-dave"] ? 0 : 1,
    ramp: values.ramp ? { playersMax: number("ramp-max", 1, 20_000) } : undefined,
    mediaRoot: values.media === undefined ? undefined : folder(values.media),
    jsonPath: values.json,
    svgPath: values.svg,
  };
}

/** How long a run takes on a quiet machine, seconds; undefined with --ramp: until a node fails. */
export function expectedSeconds(options: BenchRunOptions): number | undefined {
  const { plans, workloads, rounds, seconds, settleSeconds, mediaRoot, ramp } = options;
  if (ramp !== undefined) return undefined;
  const ofRound = seconds + settleSeconds + OVERHEAD_SECONDS;
  const ofWorkload = START_SECONDS + plans.length * rounds * ofRound;
  return workloads.length * ofWorkload + (mediaRoot === undefined ? MEDIA_SECONDS : 0);
}

function withoutUndefined<Values extends object>(values: Values): Values {
  // Only members that may be undefined are left out.
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Values;
}

function readArguments(args: readonly string[]) {
  const text = (value: string) => ({ type: "string", default: value }) as const;
  const maybe = { type: "string" } as const;
  const off = { type: "boolean", default: false } as const;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        against: maybe,
        name: text("other"),
        password: text("youshallnotpass"),
        pid: maybe,
        only: maybe,
        quick: off,
        rounds: maybe,
        seconds: maybe,
        settle: maybe,
        players: maybe,
        rate: text("3000"),
        ramp: off,
        "ramp-max": text("4000"),
        "start-seconds": text("60"),
        "no-dave": off,
        media: maybe,
        json: maybe,
        svg: maybe,
      },
    });
    return values;
  } catch (error) {
    throw new WrongArgument(error instanceof Error ? error.message : String(error));
  }
}

function planOf(
  against: string,
  other: { readonly name: string; readonly password: string; readonly pid?: string; readonly startMsMax: number },
): NodePlan {
  const { name, password, startMsMax } = other;
  if (!URL_START.test(against)) return { name, command: { name, command: "sh", args: ["-c", against], startMsMax } };
  const pid = other.pid === undefined ? undefined : Number(other.pid);
  if (pid !== undefined && !(Number.isInteger(pid) && pid > 0)) throw new WrongArgument(`--pid is ${other.pid}`);
  const url = readUrl(against);
  if (!THIS_MACHINE.test(url.hostname)) {
    throw new WrongArgument(
      `${url.hostname} is not this machine: the fake Discord and the site of the bench are at 127.0.0.1, and no node ` +
        "elsewhere can reach them",
    );
  }
  return { name, url: url.origin, password, pid };
}

function folder(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new WrongArgument(`${path} is not a folder`);
  return path;
}

function readUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw new WrongArgument(`--against ${text} is no URL`);
  }
}

/** Undefined: all. */
function defaultNames({ ramp, quick }: { readonly ramp: boolean; readonly quick: boolean }): string | undefined {
  if (ramp) return RAMPED.join(",");
  return quick ? QUICK_WORKLOADS : undefined;
}

function selectedWorkloads(names: string | undefined, isRamp: boolean): readonly Workload[] {
  if (names === undefined) return WORKLOADS;
  return names.split(",").map((name) => {
    const workload = WORKLOADS.find((candidate) => candidate.name === name.trim());
    const known = WORKLOADS.filter(({ isSteady }) => isSteady || !isRamp).map((each) => each.name);
    if (workload !== undefined && known.includes(workload.name)) return workload;
    throw new WrongArgument(`there is no workload "${name}"${isRamp ? " for --ramp" : ""}, but ${known.join(", ")}`);
  });
}
