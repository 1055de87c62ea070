// Waiting for promises that need no time of any clock.

/** Resolves when all promise callbacks that can run now have run, also those that follow from them. */
export function untilSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
