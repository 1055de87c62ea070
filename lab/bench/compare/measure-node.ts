// One measurement of one node: its players join, play, are measured for some seconds, and leave, so that the other node
// has the machine for itself in the next.

import { sleep } from "../../sleep.ts";
import { Bot } from "../../test-environment/bot.ts";
import { within } from "../../within.ts";
import { BENCH_USER_ID, Crowd } from "../crowd.ts";
import { type MachineReading, machineUse, readMachine } from "../machine-use.ts";
import { CannotPlay, NodeTrouble } from "../trouble.ts";
import type { World } from "../world.ts";
import { audioFigures, dueFigures } from "./audio-figures.ts";
import type { Contestant } from "./contestant.ts";
import type { Figures } from "./figures.ts";
import type { Workload } from "./workload.ts";

/** The node and the world of a measurement. */
export interface MeasuredNode {
  readonly world: World;
  readonly contestant: Contestant;
  /** Memory before any player joined. */
  readonly restPssBytes: number | undefined;
  /** Processes whose trees are the bench and all nodes. */
  readonly ourPids: readonly number[];
  readonly daveVersion: number;
}

interface MeasurementPlan {
  readonly workload: Workload;
  readonly players: number;
  readonly seconds: number;
  readonly settleSeconds: number;
  readonly requestsPerSecond: number;
}

interface Reading {
  readonly atMs: number;
  readonly cpuSeconds: number | undefined;
  readonly listenerCpuSeconds: number;
  readonly machine: MachineReading;
}

const MEGABYTE = 1024 * 1024;
const CONNECT_MS_MAX = 10_000;
/** A measurement that does not end is given up after its planned duration and this. */
const MEASUREMENT_GRACE_MS = 180_000;
/** Time for the effects of the last players to fade. */
const CALM_MS = 300;

/** Rejects with `CannotPlay` or `NodeTrouble`, which name the node. */
export async function measureNode(context: MeasuredNode, plan: MeasurementPlan): Promise<Figures> {
  const { contestant } = context;
  const measurementMsMax = (plan.seconds + plan.settleSeconds) * 1000 + MEASUREMENT_GRACE_MS;
  const measurement = within(measureCrowd(context, plan), measurementMsMax);
  try {
    const figures = await Promise.race([measurement, contestant.trouble]);
    if (figures === undefined) throw new NodeTrouble(`its round did not end within ${measurementMsMax / 1000} s`);
    return figures;
  } catch (error) {
    if (error instanceof CannotPlay) throw new CannotPlay(named(contestant, error));
    if (error instanceof NodeTrouble) throw new NodeTrouble(named(contestant, error));
    throw error; // the bench's own
  }
}

function named({ name }: Contestant, { message }: Error): string {
  return message.startsWith(`${name}: `) ? message : `${name}: ${message}`;
}

async function measureCrowd(context: MeasuredNode, plan: MeasurementPlan): Promise<Figures> {
  const { world, contestant, daveVersion } = context;
  const { url, password } = contestant;
  const bot = await connect({ url, password });
  const crowd = await Crowd.gather({ world, bot, daveVersion });
  const gone = bot.closed(2 ** 31 - 1).then(({ code }) => {
    throw new NodeTrouble(`closed its WebSocket (${code}) in the middle of a round`);
  });
  gone.catch(() => undefined); // also when we close it ourselves
  try {
    const figures = await Promise.race([measureWindow(context, plan, crowd), gone]);
    await crowd.leave();
    await sleep(CALM_MS);
    return figures;
  } catch (error) {
    await crowd.leave().catch(() => undefined); // the first failure is the one reported
    throw error;
  } finally {
    bot.close();
  }
}

async function connect({ url, password }: { url: string; password: string }): Promise<Bot> {
  const connecting = Bot.connect({ url, password, userId: BENCH_USER_ID }).catch((error: unknown) => {
    throw new NodeTrouble(`did not accept a WebSocket: ${error}`);
  });
  const bot = await within(connecting, CONNECT_MS_MAX);
  if (bot === undefined) throw new NodeTrouble("opened no WebSocket with a ready message within 10 s");
  // As bots do; a node that stores sessions has its work with it.
  await bot.request("PATCH", `/v4/sessions/${bot.sessionId}`, { resuming: true, timeout: 1 });
  return bot;
}

async function measureWindow(context: MeasuredNode, plan: MeasurementPlan, crowd: Crowd): Promise<Figures> {
  const { url, password } = context.contestant;
  const { workload, players, seconds, requestsPerSecond } = plan;
  const during = await workload.prepare({ crowd, url, password, players, seconds, requestsPerSecond });
  await sleep(plan.settleSeconds * 1000);
  const before = await read(context);
  await context.world.beginWindow();
  const own = await during();
  const audio = await context.world.endWindow();
  const after = await read(context);
  return {
    ...processFigures(context, plan, before, after),
    ...(players > 0 && audioFigures(audio)),
    ...(workload.isSteady && dueFigures(audio, players)),
    ...own,
  };
}

async function read({ contestant, world, ourPids }: MeasuredNode): Promise<Reading> {
  const listenerCpuSeconds = await world.cpuSeconds();
  const machine = readMachine(ourPids);
  return { atMs: performance.now(), cpuSeconds: contestant.use().cpuSeconds, listenerCpuSeconds, machine };
}

function processFigures(context: MeasuredNode, { players }: MeasurementPlan, before: Reading, after: Reading): Figures {
  const { contestant, restPssBytes } = context;
  const elapsedSeconds = (after.atMs - before.atMs) / 1000;
  const percentOf = (from: number | undefined, to: number | undefined) =>
    from === undefined || to === undefined ? undefined : (Math.max(0, to - from) / elapsedSeconds) * 100;
  const cpuPercent = percentOf(before.cpuSeconds, after.cpuSeconds);
  const pssBytes = contestant.pssBytes();
  const { residentBytes } = contestant.use();
  return measuredOnly({
    cpuPercent,
    cpuPercentPerPlayer: cpuPercent === undefined || players === 0 ? undefined : cpuPercent / players,
    pssMegabytes: pssBytes === undefined ? undefined : pssBytes / MEGABYTE,
    pssMegabytesPerPlayer:
      pssBytes === undefined || restPssBytes === undefined || players === 0
        ? undefined
        : (pssBytes - restPssBytes) / MEGABYTE / players,
    residentMegabytes: residentBytes === undefined ? undefined : residentBytes / MEGABYTE,
    listenerCpuPercent: percentOf(before.listenerCpuSeconds, after.listenerCpuSeconds),
    ...machineUse(before.machine, after.machine),
  });
}

function measuredOnly(figures: Readonly<Record<string, number | undefined>>): Figures {
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== undefined));
}
