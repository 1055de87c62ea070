// Limits how fast one track may send requests, whatever causes them: segments of no length, a key for each, redirects,
// connections that end after a few bytes. Faster callers wait. Audio and probe threads.

import { pause } from "../../lib/pause.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { TrackBudget } from "../quota/track-budget.ts";

/**
 * Opening an HLS stream takes ten requests; one that plays asks twice a second at most. A jump in a file without an
 * index, found by halving, takes some twenty, and people jump several times in a row.
 */
const BURST_REQUESTS = 120;
const REQUESTS_PER_SECOND = 20;

/** One per track, from its first request to its last. */
export class RequestPace {
  /** Gives time slices for parsing answers. */
  readonly budget: TrackBudget;
  readonly #requests: TokenBucket;

  constructor(budget: TrackBudget) {
    const { clock } = budget;
    this.budget = budget;
    this.#requests = new TokenBucket({ clock, burst: BURST_REQUESTS, perSecond: REQUESTS_PER_SECOND });
  }

  /** Resolves when the next request may be sent, or the signal fires. */
  async next(signal: AbortSignal): Promise<void> {
    if (!this.#requests.spend(1)) await pause(this.budget.clock, this.#requests.waitMs, signal);
  }
}
