// Time, passed in wherever it is needed so that a test can say "tick five times" (test/support/fake-clock.ts).

/** A call that is due once. Nothing repeats by itself. */
export interface Timer {
  /** Stops the timer; harmless when it has fired. */
  cancel(): void;
}

/** All that the node knows of time. `systemClock` in the node; a test's own moves only when the test says so. */
export interface Clock {
  /** Milliseconds on a monotonic clock with an arbitrary start, with fractions. */
  now(): number;
  /** Milliseconds since the Unix epoch. */
  epochMs(): number;
  /** Calls `callback` once, `delayMs` (0 or more) from now. The timer does not keep the process alive. */
  after(delayMs: number, callback: () => void): Timer;
}

/** The same clock, with every timer callback replaced by the result of `wrap`. */
export function wrapTimers(clock: Clock, wrap: (callback: () => void) => () => void): Clock {
  return {
    now: () => clock.now(),
    epochMs: () => clock.epochMs(),
    after: (delayMs, callback) => clock.after(delayMs, wrap(callback)),
  };
}

/** The real clock of this process. */
export const systemClock: Clock = {
  now: () => performance.now(),
  epochMs: () => Date.now(),
  after(delayMs, callback) {
    if (delayMs === 0) {
      // Runs after pending socket events; a timer of 0 would wait a whole millisecond.
      const immediate = setImmediate(callback);
      return { cancel: () => clearImmediate(immediate) };
    }
    const timeout = setTimeout(callback, delayMs);
    timeout.unref();
    return { cancel: () => clearTimeout(timeout) };
  },
};
