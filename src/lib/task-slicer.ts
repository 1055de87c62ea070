// Lets long tasks share a thread with work that must not wait: a task runs in time slices of a few milliseconds, one
// slice at a time however many tasks wait, and after each slice the thread is free for as long as the slice took. Has
// no domain knowledge; the API uses it for large bodies and long responses on the main thread.

import type { Clock } from "./clock.ts";
import { Turns } from "./turns.ts";

/** Length of a time slice. */
const SLICE_MS = 5;
/** A slice may overrun its length; the rest after it is never longer than this. */
const REST_MS_MAX = 50;

/** A part of the work, from now on. */
class TimeSlice {
  readonly #clock: Pick<Clock, "now">;
  readonly #endMs: number;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.#endMs = clock.now() + SLICE_MS;
  }

  /** True when the task has to wait for its next slice. */
  get isOver(): boolean {
    return this.#clock.now() >= this.#endMs;
  }
}

/**
 * Grants slices to accounts in turn, and to each in the order of its requests. The queue has no bound: each waiting task
 * was admitted elsewhere (as a request or a socket).
 */
export class TaskSlicer {
  readonly #clock: Clock;
  readonly #waiting = new Turns<(slice: TimeSlice) => void>();
  /** True from the start of a slice until the rest after it is over. */
  #isBusy = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A slice that starts now without waiting, for work that is usually short. */
  begun(): TimeSlice {
    return new TimeSlice(this.#clock);
  }

  /**
   * Waits for earlier requests of the account, and for its turn among the others. The caller works at once, and asks
   * again when the slice is over. Default account: that of all who name none.
   */
  next(account = ""): Promise<TimeSlice> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve, account);
      if (!this.#isBusy) this.#grant();
    });
  }

  #grant(): void {
    const first = this.#waiting.shift();
    this.#isBusy = first !== undefined;
    if (first === undefined) return;
    const startMs = this.#clock.now();
    first(new TimeSlice(this.#clock));
    // A timer of 0 runs after the work of the slice and after all other pending events.
    this.#clock.after(0, () => {
      const restMs = Math.min(REST_MS_MAX, this.#clock.now() - startMs);
      this.#clock.after(restMs < 1 ? 0 : restMs, () => this.#grant());
    });
  }
}
