// The queue for time slices on a thread: one at a time, with timers and sockets in between, so that many tracks reading
// at once delay packets no longer than one of them does; of several owners, the one that has used the least comes first.
// Several short slices run together: an event loop iteration may be long, and then hundreds of readers would have to
// wait for too many of them. One per audio or probe thread.

import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import { FairQueue } from "../scheduler/fair-queue.ts";

/**
 * After this many slices, or once they have taken this long together, timers and sockets are served before the next.
 */
const ROUND_SLICES_MAX = 8;
const ROUND_MS_MAX = 0.5;

interface TimeSlicerOptions {
  readonly clock?: Clock;
  /**
   * Of one owner's work, that which has used the thread least comes first, so that short work is over soon. For
   * one-time work: a track that has played for hours would wait forever behind newer ones. Default: first come, first
   * served.
   */
  readonly isLeastUsedFirst?: boolean;
}

interface Waiting {
  readonly usedMs: number;
  readonly start: () => void;
}

/** The queue is no longer than the number of tracks on the thread: each waits for one time slice at a time. */
export class TimeSlicer {
  readonly #clock: Clock;
  readonly #waiting: FairQueue<Waiting>;
  #isRoundPlanned = false;

  constructor({ clock = systemClock, isLeastUsedFirst = false }: TimeSlicerOptions = {}) {
    this.#clock = clock;
    this.#waiting = new FairQueue(isLeastUsedFirst ? (one, other) => one.usedMs < other.usedMs : undefined);
  }

  /** Resolves when the caller's time slice begins. `usedMs`: the caller's thread time so far. */
  next(usedMs = 0, owner: Owner = []): Promise<void> {
    return new Promise((start) => {
      this.#waiting.push({ usedMs, start }, owner);
      if (!this.#isRoundPlanned) this.#planRound();
    });
  }

  /** Work of `owner` has used the thread for this long. */
  addUsedMs(owner: Owner, usedMs: number): void {
    this.#waiting.addUsedMs(owner, usedMs, this.#clock.now());
  }

  /** The work of a time slice runs in microtasks, which come behind each callback of `setImmediate`. */
  #planRound(): void {
    this.#isRoundPlanned = true;
    const sliceCount = Math.min(this.#waiting.length, ROUND_SLICES_MAX);
    let startedMs: number | undefined;
    for (let slice = 1; slice <= sliceCount; slice++) {
      setImmediate(() => {
        const nowMs = this.#clock.now();
        startedMs ??= nowMs;
        if (nowMs - startedMs < ROUND_MS_MAX) this.#waiting.shift()?.start();
        if (slice < sliceCount) return;
        this.#isRoundPlanned = false;
        if (this.#waiting.length > 0) this.#planRound();
      });
    }
  }
}
