// Detects a track that uses more CPU than music can need, which would delay other players of its thread or leave the
// machine without capacity for them. Averages over some seconds, because opening a large file or a seek may be
// expensive once. Audio thread.

import type { Clock } from "../../lib/clock.ts";
import type { TrackBudget } from "../quota/track-budget.ts";

/** Length of the averaging window. */
const WINDOW_MS = 4000;
/**
 * Shares of a core. A track with every filter takes some 0.06 where this was written; what takes six times as much on a
 * machine a third as fast is still below the first.
 */
const SHARE_MAX_AMONG_OTHERS = 0.35;
const SHARE_MAX_ALONE = 0.75;

export interface CpuQuotaCheck {
  /** The thread has other players, which would be late. */
  readonly hasOthers: boolean;
  readonly threadLoad: number;
}

export class CpuQuotaWatch {
  readonly #clock: Clock;
  readonly #budget: TrackBudget;
  #sinceMs: number;
  #usedBeforeMs: number;
  #threadLoads: number[] = [];

  constructor(clock: Clock, budget: TrackBudget) {
    this.#clock = clock;
    this.#budget = budget;
    this.#sinceMs = clock.now();
    this.#usedBeforeMs = budget.usedMs;
  }

  /**
   * Called regularly, with the share of a core that the whole thread has used since the previous call. Returns the
   * track's share of the thread, 0 to 1, at the end of a window in which it took too much. The share is measured by the
   * clock, so it is too high on a thread that was kept from running; it is capped at what the thread has used.
   */
  check({ hasOthers, threadLoad }: CpuQuotaCheck): number | undefined {
    this.#threadLoads.push(threadLoad);
    const nowMs = this.#clock.now();
    const lengthMs = nowMs - this.#sinceMs;
    if (lengthMs < WINDOW_MS) return undefined;
    const { usedMs } = this.#budget;
    const threadShare = this.#threadLoads.reduce((sum, load) => sum + load, 0) / this.#threadLoads.length;
    const share = Math.min(threadShare, (usedMs - this.#usedBeforeMs) / lengthMs);
    this.#threadLoads = [];
    this.#sinceMs = nowMs;
    this.#usedBeforeMs = usedMs;
    return share > (hasOthers ? SHARE_MAX_AMONG_OTHERS : SHARE_MAX_ALONE) ? share : undefined;
  }
}
