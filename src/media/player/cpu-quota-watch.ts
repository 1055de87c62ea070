// Notices a track that takes more of its thread than music can need, so that others there would be late or the machine
// has nothing left for them. Looks at some seconds together: opening a large file or a jump may cost much once. Audio
// thread.

import type { Clock } from "../../lib/clock.ts";
import type { TrackBudget } from "../quota/track-budget.ts";

/** Time looked at together. */
const WINDOW_MS = 4000;
/**
 * Shares of a core. A track with every filter takes some 0.06 where this was written; what takes six times as much on a
 * machine a third as fast is still below the first.
 */
const SHARE_MAX_AMONG_OTHERS = 0.35;
const SHARE_MAX_ALONE = 0.75;

export interface CpuQuotaCheck {
  /** There are players on the thread that would be late. */
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
   * Called regularly, with the share of a core that the whole thread has used since the call before. At the end of a
   * window in which the track took too much: its share of the thread, 0 to 1. It is counted by the clock, so a thread
   * that was kept from running counts too much; more than the thread has used it cannot have been.
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
