// Schedules MLS work: a piece of it cannot be interrupted and takes milliseconds, so all voice sessions of a thread
// share one queue. One piece runs per event loop iteration, and none while frames are short, except one at regular
// intervals. Audio continues with the old keys meanwhile. docs/internals/tick.md describes the order. One per audio
// thread.

import type { Clock, Timer } from "../../../lib/clock.ts";

/** Once this much was done in an event loop iteration, for any session, the others wait for the next iteration. */
const SLICE_MS_MAX = 1;
/** When frames are always short, a piece is done this long after the last. */
const HELD_UP_MS_MAX = 50;
/** While frames are short: interval of the checks. */
const RECHECK_MS = 2;

/** A voice session that has MLS work to do. */
export interface GroupWaiter {
  /** The smallest rank is served first: when its work arrived, or may be treated as arrived. */
  readonly rankMs: number;
  /** How long it must wait because its own share of the thread is used up, milliseconds; 0: not at all. */
  readonly shareWaitMs: number;
  /** Does one piece. True: there is more. Must not throw. */
  serve(): boolean;
}

export interface GroupQueueOptions {
  readonly clock: Clock;
  /** All players have so many ready frames that a piece of MLS work causes no gap. */
  readonly areFramesAhead: () => boolean;
}

export class GroupQueue {
  readonly #options: GroupQueueOptions;
  readonly #waiting = new Set<GroupWaiter>();
  #timer: { readonly timer: Timer; readonly atMs: number } | undefined;
  #sliceMs = 0;
  /** When the last piece was done, or the first of the waiting ones arrived. */
  #servedMs = 0;

  constructor(options: GroupQueueOptions) {
    this.#options = options;
  }

  /** Nobody waits, and MLS work may be done at once. */
  get isFree(): boolean {
    return this.#waiting.size === 0 && this.#sliceMs < SLICE_MS_MAX && this.#options.areFramesAhead();
  }

  /** Calls the waiter's `serve` each time it is selected, until that returns false. */
  enter(waiter: GroupWaiter): void {
    if (this.#waiting.size === 0) this.#servedMs = this.#options.clock.now();
    this.#waiting.add(waiter);
    this.#arm(0);
  }

  leave(waiter: GroupWaiter): void {
    this.#waiting.delete(waiter);
    this.#rest();
  }

  /** Counts work done in this event loop iteration, for any session. */
  spend(usedMs: number): void {
    if (usedMs <= 0) return;
    this.#sliceMs += usedMs;
    this.#arm(0);
  }

  #arm(delayMs: number): void {
    const { clock } = this.#options;
    const atMs = clock.now() + delayMs;
    if (this.#timer !== undefined && this.#timer.atMs <= atMs) return;
    this.#timer?.timer.cancel();
    this.#timer = { timer: clock.after(delayMs, () => this.#run()), atMs };
  }

  /** Without anything to do it leaves no timer. */
  #rest(): void {
    if (this.#waiting.size > 0 || this.#sliceMs > 0) return;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
  }

  #run(): void {
    this.#timer = undefined;
    this.#sliceMs = 0;
    const areFramesAhead = this.#options.areFramesAhead();
    const isHeldUp = !areFramesAhead && this.#options.clock.now() - this.#servedMs < HELD_UP_MS_MAX;
    if (!isHeldUp) this.#serveNext();
    if (this.#waiting.size === 0) return;
    this.#arm(Math.max(this.#nextDelayMs, areFramesAhead ? 0 : RECHECK_MS));
  }

  #serveNext(): void {
    const next = this.#pick();
    if (next === undefined) return;
    this.#servedMs = this.#options.clock.now();
    if (!next.serve()) this.#waiting.delete(next);
  }

  #pick(): GroupWaiter | undefined {
    let first: GroupWaiter | undefined;
    for (const waiter of this.#waiting) {
      if ((first === undefined || waiter.rankMs < first.rankMs) && waiter.shareWaitMs === 0) first = waiter;
    }
    return first;
  }

  get #nextDelayMs(): number {
    let delayMs = Number.POSITIVE_INFINITY;
    for (const { shareWaitMs } of this.#waiting) {
      // Nearly always the first one.
      if (shareWaitMs === 0) return 0;
      delayMs = Math.min(delayMs, Math.ceil(shareWaitMs));
    }
    return delayMs;
  }
}
