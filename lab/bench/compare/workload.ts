// What a workload is: what the players of a node do while it is measured. A new one is an object in workloads.ts.

import { sleep } from "../../sleep.ts";
import type { Crowd } from "../crowd.ts";
import type { Figures } from "./figures.ts";

/** Where a workload meets the node whose turn it is. */
export interface WorkloadScene {
  readonly crowd: Crowd;
  readonly url: string;
  readonly password: string;
  readonly players: number;
  /** Of the window. */
  readonly seconds: number;
  /** REST requests a second, where the workload sends them. */
  readonly requestsPerSecond: number;
}

/** What happens within the window, which it lasts as long as; its own figures. */
type During = () => Promise<Figures>;

export interface Workload {
  readonly name: string;
  readonly detail: string;
  /** Unless another number is asked for; 0: the node is started for it and left alone. */
  readonly players: number;
  /** All of them sound from before the window until after it, so that the packets due are known. */
  readonly isSteady: boolean;
  /** Before the window: who plays already? */
  prepare(scene: WorkloadScene): Promise<During>;
}

/** Nothing but time passing. */
export function quietly({ seconds }: WorkloadScene): During {
  return async () => {
    await sleep(seconds * 1000);
    return {};
  };
}

/** Calls `act` so many times, evenly within `spanMs`, whatever becomes of those before. Resolves when all are done. */
export async function paced(count: number, spanMs: number, act: (index: number) => Promise<void>): Promise<void> {
  const acts: Promise<void>[] = [];
  const startedMs = performance.now();
  for (let index = 0; index < count; index++) {
    const waitMs = startedMs + (index * spanMs) / count - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const acting = act(index);
    acting.catch(() => undefined); // it is looked at below, when all have begun
    acts.push(acting);
  }
  await Promise.all(acts);
}

/** Does all that, and resolves with what it came to once the window is over, not before. */
export async function fillingWindow<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await work();
  await sleep(Math.max(0, startedMs + seconds * 1000 - performance.now()));
  return result;
}
