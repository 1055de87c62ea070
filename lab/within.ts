// Waits for work up to a time limit: for tools of the lab that work with real nodes, sites and processes.

import { type Clock, systemClock, type Timer } from "../src/lib/clock.ts";

/** Undefined when it takes longer. */
export async function within<T>(
  work: Promise<T>,
  timeoutMs: number,
  clock: Clock = systemClock,
): Promise<T | undefined> {
  let timer: Timer | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = clock.after(timeoutMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    timer?.cancel();
    work.catch(() => undefined); // its result is no longer awaited
  }
}
