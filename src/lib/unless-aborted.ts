// Waits for work no longer than somebody wants it. A leaf, on all threads.

/**
 * What `work` comes to, or a rejection with the signal's reason as soon as that aborts; the work itself is not ended.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    if (signal.aborted) onAbort();
  });
}
