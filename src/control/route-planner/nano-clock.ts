// Nanoseconds since an arbitrary start, never the same number twice: the counter by which the planners with `Nano` in
// their names choose addresses. Main thread.

import type { Clock } from "../../lib/clock.ts";

const NS_PER_MS = 1e6;

export class NanoClock {
  readonly #clock: Clock;
  #startMs: number;
  #last = -1n;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.now();
  }

  /** Nanoseconds since the start, at least one more than the last time that `take` gave. */
  take(): bigint {
    this.#last = this.#elapsedFrom(this.#last + 1n);
    return this.#last;
  }

  /** Returns the next number without using it up. */
  peek(): bigint {
    return this.#elapsedFrom(this.#last);
  }

  /** One that goes on from here by itself. */
  fork(): NanoClock {
    const fork = new NanoClock(this.#clock);
    fork.#startMs = this.#startMs;
    fork.#last = this.#last;
    return fork;
  }

  restart(): void {
    this.#startMs = this.#clock.now();
    this.#last = -1n;
  }

  /** Nanoseconds since the start, at least `min` and 0. */
  #elapsedFrom(min: bigint): bigint {
    const elapsed = BigInt(Math.floor((this.#clock.now() - this.#startMs) * NS_PER_MS));
    return min > elapsed ? min : elapsed;
  }
}
