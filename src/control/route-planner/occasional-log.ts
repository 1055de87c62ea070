// Something that may happen with every request, told at once the first time and then gathered. Main thread.

import type { Clock } from "../../lib/clock.ts";

const INTERVAL_MS = 60_000;

export class OccasionalLog {
  readonly #clock: Clock;
  readonly #write: (countSince: number) => void;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** `write` is told how often it has happened since it was last called: at most once a minute. */
  constructor(clock: Clock, write: (countSince: number) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  note(): void {
    this.#count++;
    if (this.#clock.now() - this.#writtenMs < INTERVAL_MS) return;
    this.#writtenMs = this.#clock.now();
    this.#write(this.#count);
    this.#count = 0;
  }
}
