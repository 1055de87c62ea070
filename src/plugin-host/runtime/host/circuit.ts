// One circuit: counts failures in a row, and is open for growing pauses once there are too many. A backend has one for
// everybody, and one for each account and client whose requests failed (backends.ts). Plugin thread.

import type { Clock } from "../../../lib/clock.ts";

const FAILURES_MAX = 5;
/** Of those that open a circuit, as many may be those of one account or client below it: one alone does not open it. */
const FAILURES_OF_CHILD_MAX = 3;
const CHILDREN_MAX = 64;
const FIRST_PAUSE_MS = 30_000;
export const PAUSE_MS_MAX = 30 * 60_000;
/** A trial request that has not ended by then is ignored: the next one may be sent. */
const TRIAL_MS_MAX = 60_000;

/** A trial request, which decides whether the circuit closes. */
export interface Trial {
  readonly startedMs: number;
}

export interface Failure {
  /** As the site asked for; 0: it did not. At most `PAUSE_MS_MAX`. */
  readonly retryAfterMs: number;
  /** Whose it is, at the level below. Undefined: there is no level below. */
  readonly child: string | undefined;
  readonly trial: Trial | undefined;
}

export class Circuit {
  readonly #clock: Clock;
  #failuresInRow = 0;
  /** In this row, of those below. */
  readonly #ofChildren = new Map<string, number>();
  #ofItself = 0;
  #pauseMs = FIRST_PAUSE_MS;
  /** On the clock; undefined while it is closed. */
  #openUntilMs: number | undefined;
  /** Undefined while no trial request is running. */
  #trial: Trial | undefined;
  #lastTrialOf: string | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get failuresInRow(): number {
    return this.#failuresInRow;
  }

  /** Requests are refused. */
  get isOpen(): boolean {
    if (this.#openUntilMs === undefined) return false;
    return this.isHalfOpen || this.#clock.now() < this.#openUntilMs;
  }

  get isHalfOpen(): boolean {
    return this.#trial !== undefined && this.#clock.now() - this.#trial.startedMs < TRIAL_MS_MAX;
  }

  /** Closed, or its pause is over. */
  get state(): "closed" | "open" | "halfOpen" {
    return this.#openUntilMs === undefined ? "closed" : this.isHalfOpen ? "halfOpen" : "open";
  }

  get openUntilEpochMs(): number | undefined {
    const untilMs = this.#openUntilMs;
    return untilMs === undefined ? undefined : Math.round(this.#clock.epochMs() + untilMs - this.#clock.now());
  }

  /** A request that was not refused begins: it is the trial where the pause is over. */
  begin(): Trial | undefined {
    if (this.#openUntilMs === undefined) return undefined;
    this.#trial = { startedMs: this.#clock.now() };
    return this.#trial;
  }

  end(trial: Trial | undefined): void {
    if (this.#trial === trial) this.#trial = undefined;
  }

  succeed(): void {
    this.#failuresInRow = 0;
    this.#ofItself = 0;
    this.#ofChildren.clear();
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#openUntilMs = undefined;
    this.#lastTrialOf = undefined;
  }

  /** Returns for how long it is open from now on, milliseconds; undefined: it stays as it is. */
  fail({ retryAfterMs, child, trial }: Failure): number | undefined {
    this.#failuresInRow += 1;
    this.#count(child, retryAfterMs > 0);
    if (trial !== undefined) {
      // An account whose trials alone fail does not lengthen the pause of the others.
      const isConfirmed = child === undefined || child !== this.#lastTrialOf;
      if (isConfirmed) this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
      this.#lastTrialOf = child;
    }
    const isTooMany = trial !== undefined || this.#weight >= FAILURES_MAX;
    const isAskedFor = child === undefined && retryAfterMs > 0;
    if (!isTooMany && !isAskedFor) return undefined;
    const pauseMs = Math.max(isTooMany ? this.#pauseMs : 0, retryAfterMs);
    this.#openUntilMs = this.#clock.now() + pauseMs;
    return pauseMs;
  }

  #count(child: string | undefined, isAskedToWait: boolean): void {
    if (child === undefined) {
      this.#ofItself += 1;
      return;
    }
    const count = isAskedToWait ? FAILURES_OF_CHILD_MAX : (this.#ofChildren.get(child) ?? 0) + 1;
    // More of them than are counted have opened it already.
    if (this.#ofChildren.size >= CHILDREN_MAX && !this.#ofChildren.has(child)) return;
    this.#ofChildren.set(child, Math.min(count, FAILURES_OF_CHILD_MAX));
  }

  get #weight(): number {
    return [...this.#ofChildren.values()].reduce((sum, count) => sum + count, this.#ofItself);
  }
}
