// Advances a fake clock while the event loop serves real sockets of this process: time that does not depend on the
// machine.

import { setImmediate as nextIteration } from "node:timers/promises";
import type { FakeClock } from "./fake-clock.ts";

/** Advances a millisecond per event loop iteration, until the condition holds. */
export async function timePasses(clock: FakeClock, isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await nextIteration();
    clock.advance(1);
  }
}

/** Advances a millisecond per event loop iteration, until the work is done; returns its result. */
export async function timeFor<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  done.catch(() => undefined); // awaited below
  await timePasses(clock, () => isDone);
  return done;
}
