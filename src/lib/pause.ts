// Waiting for time to pass. A leaf, on all threads.

import type { Clock } from "./clock.ts";

/** Resolves after the time or when the signal fires, whichever is first. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = clock.after(delayMs, finish);
    signal?.addEventListener("abort", finish, { once: true });
  });
}
