// A clock that stands still until a test moves it. Timers fire in order of their time, each at its own moment.

import type { Clock, Timer } from "../../src/lib/clock.ts";

interface PendingTimer {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

export class FakeClock implements Clock {
  #nowMs: number;
  readonly #epochOffsetMs: number;
  #order = 0;
  readonly #timers = new Set<PendingTimer>();

  constructor({ nowMs = 0, epochMs = 1_700_000_000_000 }: { nowMs?: number; epochMs?: number } = {}) {
    this.#nowMs = nowMs;
    this.#epochOffsetMs = epochMs - nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  epochMs(): number {
    return Math.floor(this.#nowMs + this.#epochOffsetMs);
  }

  after(delayMs: number, callback: () => void): Timer {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  /** How many timers there have ever been. */
  get setCount(): number {
    return this.#order;
  }

  /** How many timers wait. */
  get pendingCount(): number {
    return this.#timers.size;
  }

  /** Advances the time and fires due timers, in order; timers set in between fire too if they fall within. */
  advance(byMs: number): void {
    const untilMs = this.#nowMs + byMs;
    for (;;) {
      const next = this.#earliest();
      if (next === undefined || next.atMs > untilMs) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.callback();
    }
    this.#nowMs = untilMs;
  }

  /** Time passes without any timer firing, as when the thread is busy. */
  stall(byMs: number): void {
    this.#nowMs += byMs;
  }

  #earliest(): PendingTimer | undefined {
    let earliest: PendingTimer | undefined;
    for (const timer of this.#timers) {
      const isEarlier =
        earliest === undefined ||
        timer.atMs < earliest.atMs ||
        (timer.atMs === earliest.atMs && timer.order < earliest.order);
      if (isEarlier) earliest = timer;
    }
    return earliest;
  }
}
