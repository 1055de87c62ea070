// Waiting for time to pass. A leaf, on all threads.

import type { Clock } from "./clock.ts";
import { onAbort } from "./on-abort.ts";

/** Resolves after the time or when the signal fires, whichever is first. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(delayMs, () => {
      stopListening?.();
      resolve();
    });
    const stopListening =
      signal &&
      onAbort(signal, () => {
        timer.cancel();
        resolve();
      });
  });
}
