// The real clock, whose new timers a test can hold back: what would be tried again waits until then.

import { type Clock, systemClock, type Timer } from "../../src/lib/clock.ts";

export class HeldClock implements Clock {
  #held: (() => void)[] | undefined;

  now(): number {
    return systemClock.now();
  }

  epochMs(): number {
    return systemClock.epochMs();
  }

  after(delayMs: number, callback: () => void): Timer {
    if (this.#held === undefined) return systemClock.after(delayMs, callback);
    let timer: Timer | undefined;
    let isCancelled = false;
    this.#held.push(() => {
      if (!isCancelled) timer = systemClock.after(delayMs, callback);
    });
    return {
      cancel: () => {
        isCancelled = true;
        timer?.cancel();
      },
    };
  }

  /** Timers that are set from now on do not begin before `release`. */
  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const begin of held) begin();
  }
}
