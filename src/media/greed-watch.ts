// Notices a track that takes more of its thread than music can need, so that others there would be late or the machine has
// nothing left for them. Looks at some seconds together: opening a large file or a jump may cost much once. Audio thread.

import type { Clock } from "../lib/clock.ts";
import type { TrackBudget } from "./budget/track-budget.ts";

/** Time looked at together. */
const WINDOW_MS = 4000;
/**
 * Shares of a core. A song with every filter takes some 0.06 where this was written; what takes six times as much on a machine a
 * third as fast is still below the first.
 */
const SHARE_MAX_AMONG_OTHERS = 0.35;
const SHARE_MAX_ALONE = 0.75;

export class GreedWatch {
  readonly #clock: Clock;
  readonly #budget: TrackBudget;
  #sinceMs: number;
  #usedBeforeMs: number;

  constructor(clock: Clock, budget: TrackBudget) {
    this.#clock = clock;
    this.#budget = budget;
    this.#sinceMs = clock.now();
    this.#usedBeforeMs = budget.usedMs;
  }

  /** Called regularly. At the end of a window in which it took too much, its share of the thread, 0 to 1. */
  check({ hasOthers }: { readonly hasOthers: boolean }): number | undefined {
    const nowMs = this.#clock.now();
    const lengthMs = nowMs - this.#sinceMs;
    if (lengthMs < WINDOW_MS) return undefined;
    const { usedMs } = this.#budget;
    const share = (usedMs - this.#usedBeforeMs) / lengthMs;
    this.#sinceMs = nowMs;
    this.#usedBeforeMs = usedMs;
    return share > (hasOthers ? SHARE_MAX_AMONG_OTHERS : SHARE_MAX_ALONE) ? share : undefined;
  }
}
