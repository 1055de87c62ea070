// How fast one track may ask sites for something, whatever makes it ask: segments of no length, a key for each, redirects,
// connections that end after a few bytes. Who asks faster waits. Audio and look-up threads.

import type { TrackBudget } from "../budget/track-budget.ts";
import { pause } from "./retry-budget.ts";

/**
 * Opening an HLS stream takes ten requests; one that plays asks twice a second at most. A jump in a file without an index, found
 * by halving, takes some twenty, and people jump several times in a row.
 */
const BURST_REQUESTS = 120;
const REQUESTS_PER_SECOND = 20;

/** One per track, from its first request to its last. */
export class RequestPace {
  /** Takes the answers apart in turns. */
  readonly budget: TrackBudget;
  #requestsLeft = BURST_REQUESTS;
  #countedAtMs: number;

  constructor(budget: TrackBudget) {
    this.budget = budget;
    this.#countedAtMs = budget.clock.now();
  }

  /** Resolves when the next request may be sent, or the signal fires. */
  async next(signal: AbortSignal): Promise<void> {
    const { clock } = this.budget;
    const nowMs = clock.now();
    const earned = ((nowMs - this.#countedAtMs) / 1000) * REQUESTS_PER_SECOND;
    this.#requestsLeft = Math.min(BURST_REQUESTS, this.#requestsLeft + earned) - 1;
    this.#countedAtMs = nowMs;
    if (this.#requestsLeft < 0) await pause(clock, (-this.#requestsLeft / REQUESTS_PER_SECOND) * 1000, signal);
  }
}
