// The time of the NATS servers, as this machine guesses it: from when a renewal was sent and seen, and when they say that it
// was stored. It tells of a call whether it was on its way for too long: no wall clocks of machines are compared, and one
// that is set changes nothing. Made by the membership. Main thread.

import type { Clock } from "../lib/clock.ts";

/** From sending a call to its arrival; what arrives later is not carried out: its caller has given it up, or soon will. */
export const ARRIVE_MS_MAX = 2000;
/** By which a guess gets less exact while time passes, as clocks that are kept in time still run apart. */
const DRIFT = 0.001;
/** With a less exact guess nothing is said of the time. */
const ERROR_MS_MAX = 500;

interface Guess {
  /** Added to the monotonic clock, gives the time of the servers. */
  readonly offsetMs: number;
  /** By which it may have been wrong when it was made. */
  readonly errorMs: number;
  readonly madeMs: number;
}

export class NatsTime {
  readonly #clock: Clock;
  #guess: Guess | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A renewal that was sent then, on the monotonic clock, and has come back just now, was stored at that time of theirs. */
  measured(sentMs: number, storedEpochMs: number): void {
    const madeMs = this.#clock.now();
    const errorMs = (madeMs - sentMs) / 2;
    const offsetMs = storedEpochMs - (sentMs + errorMs);
    const before = this.#guess;
    if (before !== undefined) {
      const beforeErrorMs = this.#errorMs(before);
      // Both hold: unless their clock was set, what a pause or a slow network leaves unknown was known better before.
      const areBothTrue = Math.abs(offsetMs - before.offsetMs) <= errorMs + beforeErrorMs;
      if (areBothTrue && errorMs > beforeErrorMs) return;
    }
    this.#guess = { offsetMs, errorMs, madeMs };
  }

  /** Milliseconds since the Unix epoch; undefined: not known well enough. */
  get epochMs(): number | undefined {
    const guess = this.#guess;
    if (guess === undefined || this.#errorMs(guess) > ERROR_MS_MAX) return undefined;
    return Math.round(this.#clock.now() + guess.offsetMs);
  }

  /** What was sent then, by the sender's guess, has certainly been on its way for too long. */
  isLate(sentEpochMs: number): boolean {
    const guess = this.#guess;
    if (guess === undefined) return false;
    return this.#clock.now() + guess.offsetMs - sentEpochMs > ARRIVE_MS_MAX + this.#errorMs(guess);
  }

  #errorMs({ errorMs, madeMs }: Guess): number {
    return errorMs + (this.#clock.now() - madeMs) * DRIFT;
  }
}
