// What one track may take of its thread and of memory. It is handed to everything that works for the track outside the
// tick (opening, searching, parsing, building tables), which asks it at every step whether the stretch has been long
// enough, and gives the thread back when it has: no packet of anybody waits longer than one stretch. Audio and look-up
// threads.

import type { Activity, Heartbeat } from "../../bridge/heartbeat.ts";
import type { ByteBudget } from "../../lib/byte-budget.ts";
import type { Clock } from "../../lib/clock.ts";
import type { TimeSlicer } from "./time-slicer.ts";
import { Upstream } from "./upstream.ts";

/** How long work may hold the thread without giving the others a turn; a step more may follow. */
export const SLICE_MS_MAX = 1;
/** The same in steps, each of which takes some microseconds: holds where a clock stands still. */
const SLICE_STEPS_MAX = 512;

interface TrackBudgetOptions {
  /** Timers made with it are the track's own. */
  readonly clock: Clock;
  readonly slicer: TimeSlicer;
  /** What the track keeps: tables, read-ahead, decoders. Given back as a whole when the track is over. */
  readonly memory: ByteBudget;
  readonly heartbeat: Heartbeat;
  /** Whom to name in the mark. */
  readonly owner: number;
  readonly activity: Activity;
}

/**
 * Made when a track begins to be opened, and dropped with it. Every caller is on the thread of its `slicer`; one at a
 * time.
 */
export class TrackBudget {
  readonly clock: Clock;
  readonly memory: ByteBudget;
  readonly upstream = new Upstream();
  readonly #options: TrackBudgetOptions;
  #isWorking = false;
  /** When the stretch began, and when work was last taken up within it. */
  #startedMs = 0;
  #resumedMs = 0;
  #pausedMs = Number.NEGATIVE_INFINITY;
  #steps = 0;
  #usedMs = 0;

  constructor(options: TrackBudgetOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.memory = options.memory;
  }

  /**
   * Asked once per step of work: true when the stretch is over and the caller has to `await yield()` before the next.
   */
  get isSpent(): boolean {
    if (!this.#isWorking) this.resume();
    this.#steps += 1;
    return this.#steps >= SLICE_STEPS_MAX || this.clock.now() - this.#startedMs >= SLICE_MS_MAX;
  }

  /** Gives the thread back, and resolves when it is this track's turn again. */
  async yield(): Promise<void> {
    this.pause();
    await this.#options.slicer.next(this.#usedMs);
    this.#pausedMs = Number.NEGATIVE_INFINITY;
    this.resume();
  }

  /**
   * Work goes on after a wait, under the track's name: a new stretch begins. A wait that was hardly one does not count:
   * what was waited for may have been there already, and then nobody else had a turn.
   */
  resume(): void {
    const { heartbeat, owner, activity } = this.#options;
    heartbeat.resume(owner, activity);
    const nowMs = this.clock.now();
    this.#isWorking = true;
    this.#resumedMs = nowMs;
    if (nowMs - this.#pausedMs < SLICE_MS_MAX) return;
    this.#steps = 0;
    this.#startedMs = nowMs;
  }

  /** Work waits for something from outside, or is done. */
  pause(): void {
    if (!this.#isWorking) return;
    this.#isWorking = false;
    this.#pausedMs = this.clock.now();
    this.#usedMs += this.#pausedMs - this.#resumedMs;
    this.#options.heartbeat.pause(this.#options.owner);
  }

  /** Time of the thread spent for the track elsewhere, in the tick, is counted as well. */
  addUsedMs(usedMs: number): void {
    this.#usedMs += usedMs;
  }

  /** Time of the thread it has used since it began, milliseconds. */
  get usedMs(): number {
    return this.#usedMs;
  }
}
