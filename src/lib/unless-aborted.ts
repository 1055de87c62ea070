// Stops waiting for work when it is aborted. Has no domain knowledge; all threads.

import { onAbort } from "./on-abort.ts";

/** Settles like `work`, or rejects with the signal's reason as soon as it aborts; the work itself continues. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => reject(signal.reason));
    work.then(resolve, reject).finally(stopListening);
  });
}
