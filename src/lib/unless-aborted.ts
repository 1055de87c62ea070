// Waits for work no longer than its caller does. A leaf, on all threads.

import { onAbort } from "./on-abort.ts";

/**
 * The result of `work`, or a rejection with the signal's reason as soon as that aborts; the work itself is not ended.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => reject(signal.reason));
    work.then(resolve, reject).finally(stopListening);
  });
}
