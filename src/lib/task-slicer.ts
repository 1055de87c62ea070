// Lets work that takes long share a thread with all that must not wait: it is done in turns of a few milliseconds, one
// at a time however much waits for one, and between two turns the thread is free for as long as the last one took. A
// leaf without domain knowledge; the API uses it for large bodies and long answers on the main thread.

import type { Clock } from "./clock.ts";

/** How long one turn may last. */
const SLICE_MS = 5;
/** A turn cannot always end in time; the rest after it is not longer than this. */
const REST_MS_MAX = 50;

/** A part of the work, from now on. */
class TimeSlice {
  readonly #clock: Pick<Clock, "now">;
  readonly #endMs: number;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.#endMs = clock.now() + SLICE_MS;
  }

  /** True when the work has to wait for the next turn. */
  get isOver(): boolean {
    return this.#clock.now() >= this.#endMs;
  }
}

/**
 * First come, first served. Its queue has no bound of its own: whoever waits has been admitted elsewhere (a request, a
 * socket).
 */
export class TaskSlicer {
  readonly #clock: Clock;
  readonly #waiting: ((slice: TimeSlice) => void)[] = [];
  /** True from the start of a turn until the rest after it is over. */
  #isBusy = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A turn that begins now, for work that is short as a rule. */
  begun(): TimeSlice {
    return new TimeSlice(this.#clock);
  }

  /** Waits for those that came before. Whoever gets a turn works at once, and asks again when it is over. */
  next(): Promise<TimeSlice> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isBusy) this.#grant();
    });
  }

  #grant(): void {
    const first = this.#waiting.shift();
    this.#isBusy = first !== undefined;
    if (first === undefined) return;
    const startMs = this.#clock.now();
    first(new TimeSlice(this.#clock));
    // Once everybody else had theirs, the work of the turn is done.
    this.#clock.after(0, () => {
      const restMs = Math.min(REST_MS_MAX, this.#clock.now() - startMs);
      this.#clock.after(restMs < 1 ? 0 : restMs, () => this.#grant());
    });
  }
}
