// Moves a fake clock on while real sockets of this process have their turns in between: time that does not depend on
// the machine.

import { setImmediate as nextIteration } from "node:timers/promises";
import type { FakeClock } from "./fake-clock.ts";

/** A millisecond with each turn, until this is so. */
export async function timePasses(clock: FakeClock, isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await nextIteration();
    clock.advance(1);
  }
}

/** A millisecond with each turn, until the work is done; gives what it gives. */
export async function timeFor<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  done.catch(() => undefined); // awaited below
  await timePasses(clock, () => isDone);
  return done;
}
