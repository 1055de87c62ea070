// One time for all threads: `performance.now()` starts at zero in each, so times that threads pass to each other are on
// the system's monotonic clock. Any thread.

/**
 * A thread that is preempted between reading the two clocks measures the pause, too, but not in all of so many tries.
 */
const TRIES = 20;

/** Where the two times are read, milliseconds; tests pass their own. */
interface SharedTimeClocks {
  /** The thread's own. */
  readonly ownMs: () => number;
  /** The one that is the same for all. */
  readonly sharedMs: () => number;
}

const SYSTEM: SharedTimeClocks = {
  ownMs: () => performance.now(),
  sharedMs: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1000 + nanoseconds / 1e6;
  },
};

/** Milliseconds to add to this thread's `performance.now()` to get the time that all threads share. */
export function sharedTimeOffsetMs({ ownMs, sharedMs }: SharedTimeClocks = SYSTEM): number {
  let offsetMs = 0;
  let shortestMs = Number.POSITIVE_INFINITY;
  for (let count = 0; count < TRIES; count++) {
    const beforeMs = ownMs();
    const seenMs = sharedMs();
    const afterMs = ownMs();
    if (afterMs - beforeMs >= shortestMs) continue;
    shortestMs = afterMs - beforeMs;
    offsetMs = seenMs - (beforeMs + afterMs) / 2;
  }
  return offsetMs;
}
