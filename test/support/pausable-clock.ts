// The clock of a process that can stand still, as under SIGSTOP: time passes, and the timers that are due meanwhile fire
// when it goes on, in any order.

import type { Clock, Timer } from "../../src/lib/clock.ts";

export class PausableClock implements Clock {
  readonly #clock: Clock;
  #state: "running" | "paused" | "killed" = "running";
  #due: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isPaused(): boolean {
    return this.#state === "paused";
  }

  now(): number {
    return this.#clock.now();
  }

  epochMs(): number {
    return this.#clock.epochMs();
  }

  after(delayMs: number, callback: () => void): Timer {
    let isCancelled = false;
    const fire = (): void => {
      if (isCancelled || this.#state === "killed") return;
      if (this.#state === "paused") this.#due.push(fire);
      else callback();
    };
    const timer = this.#clock.after(delayMs, fire);
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  pause(): void {
    this.#state = "paused";
  }

  /** `order` gives the timers that are due in the order in which they fire. */
  resume(order: (due: readonly (() => void)[]) => readonly (() => void)[] = (due) => due): void {
    this.#state = "running";
    const due = order(this.#due);
    this.#due = [];
    for (const fire of due) fire();
  }

  /** No timer fires any more. */
  kill(): void {
    this.#state = "killed";
    this.#due = [];
  }
}
