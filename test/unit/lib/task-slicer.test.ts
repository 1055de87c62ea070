import { beforeEach, expect, test } from "vitest";
import type { Clock } from "../../../src/lib/clock.ts";
import { TaskSlicer } from "../../../src/lib/task-slicer.ts";

/** A clock that fires one timer at a time: between two of them all that waits for promises only runs its course. */
class SteppedClock implements Clock {
  #nowMs = 0;
  readonly #timers: { atMs: number; callback: () => void }[] = [];

  now = (): number => this.#nowMs;
  epochMs = (): number => this.#nowMs;

  after(delayMs: number, callback: () => void) {
    this.#timers.push({ atMs: this.#nowMs + delayMs, callback });
    return { cancel: () => undefined };
  }

  /** The thread is busy. */
  spend(ms: number): void {
    this.#nowMs += ms;
  }

  async run(): Promise<void> {
    for (;;) {
      for (let round = 0; round < 10; round++) await Promise.resolve();
      this.#timers.sort((first, second) => first.atMs - second.atMs);
      const next = this.#timers.shift();
      if (next === undefined) return;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.callback();
    }
  }
}

let clock: SteppedClock;
let slicer: TaskSlicer;
let steps: string[];

beforeEach(() => {
  clock = new SteppedClock();
  slicer = new TaskSlicer(clock);
  steps = [];
});

/** Work of several steps, each of which takes so long. */
async function work(name: string, stepsMs: readonly number[]): Promise<void> {
  let slice = await slicer.next();
  for (const stepMs of stepsMs) {
    if (slice.isOver) slice = await slicer.next();
    steps.push(`${name} ${clock.now()}`);
    clock.spend(stepMs);
  }
}

test("a time slice starts at once when no other runs", async () => {
  await work("a", [1, 1, 1]);
  expect(steps).toEqual(["a 0", "a 1", "a 2"]);
});

test("a time slice ends after 5 ms, and the thread is free as long before the next", async () => {
  void work("a", [2, 2, 2, 2, 2, 2]);
  await clock.run();
  expect(steps).toEqual(["a 0", "a 2", "a 4", "a 12", "a 14", "a 16"]);
});

test("however many tasks wait, one works at a time, in the order of their requests", async () => {
  for (const name of ["a", "b", "c"]) void work(name, [6, 6]);
  await clock.run();
  expect(steps).toEqual(["a 0", "b 12", "c 24", "a 36", "b 48", "c 60"]);
});

test("an account with many tasks does not delay those of another", async () => {
  const task = async (name: string, account: string): Promise<void> => {
    await slicer.next(account);
    steps.push(name);
    clock.spend(6);
  };
  for (const name of ["a1", "a2", "a3", "a4"]) void task(name, "key a");
  for (const name of ["b1", "b2"]) void task(name, "key b");
  await clock.run();
  expect(steps).toEqual(["a1", "a2", "b1", "a3", "b2", "a4"]);
});

test("a time slice that overran by far is not followed by a rest of that length", async () => {
  void work("a", [10_000, 1]);
  await clock.run();
  expect(steps).toEqual(["a 0", "a 10050"]);
});

test("after all tasks are done the next time slice starts at once again", async () => {
  void work("a", [6]);
  await clock.run();
  void work("b", [1]);
  await clock.run();
  expect(steps).toEqual(["a 0", "b 12"]);
});
