// Addresses that a site has refused, by their number, with when that was. They come back by themselves after seven days.
// Main thread.

import type { Clock } from "../../lib/clock.ts";

const BARRED_MS = 7 * 24 * 60 * 60 * 1000;
/**
 * About 1 MB, and a status that is made in some milliseconds. One more takes the place of the one that failed longest ago,
 * which is the likeliest to work again.
 */
const COUNT_MAX = 10_000;

interface Failure {
  /** On the monotonic clock: a clock that is set must not free them. */
  readonly atMs: number;
  readonly epochMs: number;
}

export interface FailingAddressesOptions {
  readonly clock: Clock;
  /** Called for each that has come back, for whatever reason. */
  readonly onFreed: (index: bigint) => void;
}

export class FailingAddresses {
  readonly #clock: Clock;
  readonly #onFreed: (index: bigint) => void;
  /** In the order of their times. */
  readonly #failures = new Map<bigint, Failure>();

  constructor({ clock, onFreed }: FailingAddressesOptions) {
    this.#clock = clock;
    this.#onFreed = onFreed;
  }

  /** Counts from now, also when it is failing already. */
  add(index: bigint): void {
    this.#failures.delete(index);
    this.#failures.set(index, { atMs: this.#clock.now(), epochMs: this.#clock.epochMs() });
    if (this.#failures.size > COUNT_MAX) this.free(this.#oldest()?.[0] ?? index);
  }

  free(index: bigint): void {
    if (this.#failures.delete(index)) this.#onFreed(index);
  }

  freeAll(): void {
    for (const index of [...this.#failures.keys()]) this.free(index);
  }

  /** Frees those whose time is over. Costs as much as there are of them: it may be called before every choice. */
  expire(): void {
    for (;;) {
      const oldest = this.#oldest();
      if (oldest === undefined || this.#clock.now() - oldest[1].atMs < BARRED_MS) return;
      this.free(oldest[0]);
    }
  }

  get count(): number {
    return this.#failures.size;
  }

  /** Oldest first: the number of each and when it failed, Unix epoch milliseconds. */
  list(): { readonly index: bigint; readonly epochMs: number }[] {
    return [...this.#failures].map(([index, { epochMs }]) => ({ index, epochMs }));
  }

  #oldest(): [bigint, Failure] | undefined {
    const { value } = this.#failures.entries().next();
    return value;
  }
}
