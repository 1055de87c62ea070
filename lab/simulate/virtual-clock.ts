// The single clock of a simulation. Its time advances only when nothing in the process is left to do: then at once to
// the next timer, whenever that is. So an hour passes in as long as the work of an hour takes, and always in the same
// way.

import type { Clock, Timer } from "../../src/lib/clock.ts";

const EPOCH_MS = 1_700_000_000_000;

/** Iterations of the event loop without a rest: some seconds. */
const ITERATIONS_MAX = 1_000_000;

interface PendingTimer {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
  isCancelled: boolean;
}

export class VirtualClock implements Clock {
  #nowMs = 0;
  #order = 0;
  /** A binary heap, the next timer first. */
  readonly #timers: PendingTimer[] = [];

  now(): number {
    return this.#nowMs;
  }

  epochMs(): number {
    return EPOCH_MS + Math.floor(this.#nowMs);
  }

  after(delayMs: number, callback: () => void): Timer {
    const atMs = this.#nowMs + Math.max(0, delayMs);
    const timer: PendingTimer = { atMs, order: this.#order++, callback, isCancelled: false };
    this.#push(timer);
    return {
      cancel: () => {
        timer.isCancelled = true;
      },
    };
  }

  /**
   * Lets time pass until `work` is settled. Rethrows its error, and throws when nothing is left that could settle it.
   */
  async drive<T>(work: Promise<T>): Promise<T> {
    let isSettled = false;
    const settled = work.finally(() => {
      isSettled = true;
    });
    settled.catch(() => undefined); // awaited below
    for (;;) {
      await workIsDone();
      if (isSettled) return settled;
      if (!this.#step()) throw new Error("the simulation is deadlocked: it waits, but no timer or task is left");
    }
  }

  /** Fires the next timer; false when there is none. */
  #step(): boolean {
    const timer = this.#pop();
    if (timer === undefined) return false;
    if (timer.isCancelled) return true;
    this.#nowMs = timer.atMs;
    timer.callback();
    return true;
  }

  #push(timer: PendingTimer): void {
    const timers = this.#timers;
    let index = timers.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(timer, timers[parent])) break;
      timers[index] = timers[parent]!; // within the heap
      index = parent;
    }
    timers[index] = timer;
  }

  #pop(): PendingTimer | undefined {
    const timers = this.#timers;
    const first = timers[0];
    const last = timers.pop();
    if (first === undefined || last === undefined || timers.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const child = isBefore(timers[left + 1], timers[left]) ? left + 1 : left;
      if (!isBefore(timers[child], last)) break;
      timers[index] = timers[child]!; // it is before something
      index = child;
    }
    timers[index] = last;
    return first;
  }
}

function isBefore(timer: PendingTimer | undefined, other: PendingTimer | undefined): boolean {
  if (timer === undefined || other === undefined) return timer !== undefined;
  return timer.atMs < other.atMs || (timer.atMs === other.atMs && timer.order < other.order);
}

/** What `process.getActiveResourcesInfo` names while there is work: of the event loop, and of the disk. */
const WORK: readonly string[] = ["Immediate", "FSReqPromise", "CloseReq"];

/**
 * Resolves when no promise, no `nextTick`, no `setImmediate` and no request of `node:fs/promises` of this process is
 * left: the time that a disk takes does not count, and what depends on files is the same each time. Throws when
 * that never happens: some code in this process reschedules itself again and again.
 */
async function workIsDone(): Promise<void> {
  for (let iterations = 0; iterations < ITERATIONS_MAX; iterations++) {
    await new Promise((next) => setImmediate(next));
    if (!process.getActiveResourcesInfo().some((name) => WORK.includes(name))) return;
  }
  throw new Error("the simulation never becomes idle: some code in this process reschedules itself again and again");
}
