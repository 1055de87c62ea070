// "Wait until this holds": conditions over the state of the fake Discord, checked again after every message, frame and
// transition. Spares the tests sleeps and polling.

import type { Clock } from "../../src/lib/clock.ts";

interface Waiter {
  readonly condition: () => boolean;
  readonly settle: (error?: Error) => void;
}

export class Waiters {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves once `condition` holds; rejects after `timeoutMs` naming `what`. */
  until(condition: () => boolean, what: string, timeoutMs: number): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (error?: Error) => {
        timer.cancel();
        this.#waiters.delete(waiter);
        if (error === undefined) resolve();
        else reject(error);
      };
      const waiter: Waiter = { condition, settle };
      const late = (): void => settle(new Error(`fake Discord: no ${what} within ${timeoutMs} ms`));
      const timer = this.#clock.after(timeoutMs, late);
      this.#waiters.add(waiter);
    });
  }

  /** As `until`, but does not reject: true once `condition` holds, false after `timeoutMs` (or at close). */
  settled(condition: () => boolean, timeoutMs: number): Promise<boolean> {
    return this.until(condition, "", timeoutMs).then(
      () => true,
      () => false, // the caller decides what the timeout means
    );
  }

  /** Settles every waiter whose condition now holds; called after each change. */
  changed(): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of [...this.#waiters]) if (waiter.condition()) waiter.settle();
  }

  /** Rejects all waiters that are still pending. */
  close(): void {
    for (const waiter of [...this.#waiters]) waiter.settle(new Error("fake Discord: closed while waiting"));
  }
}
