// Time and memory that one track may use. Passed to everything that works for the track outside the tick (opening,
// searching, parsing, building tables), which asks it at every step whether the time slice has been long enough, and
// yields the thread when it has: no packet waits longer than one time slice. Audio and probe threads.

import type { Activity, Heartbeat } from "../../bridge/heartbeat.ts";
import type { ByteBudget } from "../../lib/byte-budget.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import { CookieJar } from "../../network/cookie-jar.ts";
import type { TimeSlicer } from "./time-slicer.ts";
import { Upstream } from "./upstream.ts";

/** Maximum time slice, milliseconds; one more step may follow. */
export const SLICE_MS_MAX = 1;
/** Maximum time slice in steps, each of which takes some microseconds: applies when the clock stands still. */
const SLICE_STEPS_MAX = 512;

interface TrackBudgetOptions {
  /** Timers made with it are the track's own. */
  readonly clock: Clock;
  readonly slicer: TimeSlicer;
  /** Makes the track's memory: tables, read-ahead, decoders. Released as a whole when the track is over. */
  readonly createMemory: () => ByteBudget;
  readonly heartbeat: Heartbeat;
  /** The player or probe that the thread's current task names. */
  readonly taskId: number;
  /** Whose the track is: what the tracks of a thread share is shared out by it. */
  readonly owner: Owner;
  readonly activity: Activity;
  /** Work is resumed next: what is more urgent may come first. */
  readonly beforeWork?: () => void;
}

/**
 * Made when a track begins to be opened, and dropped with it. Every caller is on the thread of its `slicer`; one at a
 * time.
 */
export class TrackBudget {
  readonly clock: Clock;
  readonly memory: ByteBudget;
  readonly owner: Owner;
  readonly upstream: Upstream;
  /** Cookies of the sites that it is loaded from: not of its budget, but just as long-lived. */
  readonly cookies: CookieJar;
  readonly #options: TrackBudgetOptions;
  #isWorking = false;
  /** When the time slice began, and when work was last resumed within it. */
  #startedMs = 0;
  #resumedMs = 0;
  #pausedMs = Number.NEGATIVE_INFINITY;
  #steps = 0;
  #usedMs = 0;

  /** `like`: a budget of the same player, whose upstream and cookies are also this one's. */
  constructor(options: TrackBudgetOptions, like?: Pick<TrackBudget, "upstream" | "cookies">) {
    this.upstream = like?.upstream ?? new Upstream();
    this.cookies = like?.cookies ?? new CookieJar();
    this.#options = options;
    this.clock = options.clock;
    this.memory = options.createMemory();
    this.owner = options.owner;
  }

  /**
   * For what the player reads for others as well, who may be there longer: with separate time and memory, under the same
   * limits and the same name.
   */
  forShared(): TrackBudget {
    return new TrackBudget(this.#options, this);
  }

  /**
   * Read once per step of work: true when the time slice is over and the caller has to `await yield()` before the next.
   */
  get isSpent(): boolean {
    if (!this.#isWorking) this.#begin();
    this.#steps += 1;
    return this.#steps >= SLICE_STEPS_MAX || this.clock.now() - this.#startedMs >= SLICE_MS_MAX;
  }

  /** Resolves at a time slice for work that cannot be divided, beside that which the track's reader does. */
  async nextSlice(): Promise<void> {
    const { slicer, beforeWork } = this.#options;
    await slicer.next(this.#usedMs, this.owner);
    slicer.addUsedMs(this.owner, SLICE_MS_MAX);
    beforeWork?.();
  }

  /** Yields the thread, and resolves at this track's next time slice. */
  async yield(): Promise<void> {
    this.pause();
    await this.#options.slicer.next(this.#usedMs, this.owner);
    this.#pausedMs = Number.NEGATIVE_INFINITY;
    this.resume();
  }

  /**
   * Work resumes after a wait, under the track's name: a new time slice begins. A very short wait does not count: its
   * result may have been ready already, and then nothing else ran.
   */
  resume(): void {
    this.#options.beforeWork?.();
    this.#begin();
  }

  #begin(): void {
    const { heartbeat, taskId, activity } = this.#options;
    heartbeat.resume(taskId, activity);
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
    const usedMs = this.#pausedMs - this.#resumedMs;
    this.#usedMs += usedMs;
    this.#options.slicer.addUsedMs(this.owner, usedMs);
    this.#options.heartbeat.pause(this.#options.taskId);
  }

  /** Counts thread time spent for the track elsewhere, in the tick. */
  addUsedMs(usedMs: number): void {
    this.#usedMs += usedMs;
  }

  /** Thread time used since the track began, milliseconds. */
  get usedMs(): number {
    return this.#usedMs;
  }
}
