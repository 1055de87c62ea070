// The attempts to log in from one network that wait until they are checked: one after another, and no further one for a
// moment after a wrong one. Main thread.

import type { Clock, Timer } from "../../lib/clock.ts";

/** As many connections as one address may have that are not logged in. A whole line takes 26 s. */
const LENGTH_MAX = 256;

/** "refused": it was not checked. */
export type Attempted<Found> = Found | "wrong" | "refused";

interface LoginLineOptions {
  readonly clock: Clock;
  /** Until the next may be checked; 0: now. */
  readonly waitMs: () => number;
  /** Nobody waits any more. */
  readonly onEmpty: () => void;
}

export interface Waiting<Found> {
  /** Wrong attempts of its client until now. */
  readonly countWrong: () => number;
  readonly run: () => Found | "wrong";
  readonly settle: (outcome: Attempted<Found>) => void;
}

export class LoginLine<Found> {
  readonly #options: LoginLineOptions;
  /** In the order of their arrival. */
  readonly #waiting: Waiting<Found>[] = [];
  #timer: Timer | undefined;
  #isOldestNext = true;

  constructor(options: LoginLineOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** A full line refuses one. */
  enter(newcomer: Waiting<Found>): void {
    this.#waiting.push(newcomer);
    if (this.#waiting.length > LENGTH_MAX) this.refuseLast();
    this.#timer ??= this.#schedule();
  }

  /** Refuses the last one of those with most wrong attempts. */
  refuseLast(): void {
    this.leave(this.#waiting.reduce((one, other) => (other.countWrong() >= one.countWrong() ? other : one)));
  }

  /** Refuses that one, if it still waits. */
  leave(leaving: Waiting<Found>): void {
    const index = this.#waiting.indexOf(leaving);
    if (index < 0) return;
    this.#waiting.splice(index, 1);
    leaving.settle("refused");
  }

  #schedule(): Timer {
    return this.#options.clock.after(this.#options.waitMs(), () => this.#run());
  }

  #run(): void {
    while (this.#waiting.length > 0 && this.#options.waitMs() === 0) {
      const next = this.#takeNext();
      next.settle(next.run());
    }
    this.#timer = this.#waiting.length > 0 ? this.#schedule() : undefined;
    if (this.#timer === undefined) this.#options.onEmpty();
  }

  /**
   * In turn the client with fewest wrong attempts, so that others do not wait for those that guess, and the one that
   * waits longest, so that nobody waits for ever.
   */
  #takeNext(): Waiting<Found> {
    this.#isOldestNext = !this.#isOldestNext;
    const next = this.#waiting.reduce((one, other) =>
      !this.#isOldestNext && other.countWrong() < one.countWrong() ? other : one,
    );
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    return next;
  }
}
