// A workload: what the players of a node do while it is measured. To add one, add an object to workloads.ts.

import { sleep } from "../../sleep.ts";
import type { Crowd } from "../crowd.ts";
import type { Figures } from "./figures.ts";

/** What a workload gets to work with: the node under measurement and its surrounding world. */
export interface WorkloadScene {
  readonly crowd: Crowd;
  readonly url: string;
  readonly password: string;
  readonly players: number;
  /** Length of the window. */
  readonly seconds: number;
  /** REST requests a second, where the workload sends them. */
  readonly requestsPerSecond: number;
}

/** The activity within the window, which lasts as long as the window; resolves with its own figures. */
type During = () => Promise<Figures>;

export interface Workload {
  readonly name: string;
  readonly detail: string;
  /** Default number of players. */
  readonly players: number;
  /** True when each measurement starts a new node, with nothing compiled and no memory in use yet. */
  readonly isFresh?: boolean;
  /** True when all players play from before the window until after it, so that the number of packets due is known. */
  readonly isSteady: boolean;
  /** Prepares the window: starts the players that play before it. */
  prepare(scene: WorkloadScene): Promise<During>;
}

/** Lets the time of the window pass. */
export function quietly({ seconds }: WorkloadScene): During {
  return async () => {
    await sleep(seconds * 1000);
    return {};
  };
}

/** Calls `act` `count` times, evenly within `spanMs`, without waiting for earlier calls. Resolves when all are done. */
export async function paced(count: number, spanMs: number, act: (index: number) => Promise<void>): Promise<void> {
  const acts: Promise<void>[] = [];
  const startedMs = performance.now();
  for (let index = 0; index < count; index++) {
    const waitMs = startedMs + (index * spanMs) / count - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const acting = act(index);
    acting.catch(() => undefined); // awaited below, when all have started
    acts.push(acting);
  }
  await Promise.all(acts);
}

/** Runs `work`; resolves with its result once the window is over, not before. */
export async function fillingWindow<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await work();
  await sleep(Math.max(0, startedMs + seconds * 1000 - performance.now()));
  return result;
}
