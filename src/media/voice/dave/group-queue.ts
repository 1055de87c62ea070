// Whose turn it is to do MLS work: a piece of it cannot be interrupted and takes milliseconds, so all voice sessions of
// a thread stand in one queue. One piece a turn of the event loop, and none while frames are short; then one now and
// then all the same. Sound goes on with the keys it has meanwhile. docs/internals/tick.md has the order. One for each
// audio thread.

import type { Clock, Timer } from "../../../lib/clock.ts";

/** Once so much was done in a turn of the event loop, whoever it was for, the others wait for the next. */
const SLICE_MS_MAX = 1;
/** Where frames are short all the time, a piece is done so long after the last. */
const HELD_UP_MS_MAX = 50;
/** While frames are short: when to look again. */
const RECHECK_MS = 2;

/** A voice session that has MLS work to do. */
export interface GroupWaiter {
  /** Who has the least is served first: when its work came, or may be held to have come. */
  readonly rankMs: number;
  /** It has used up its own share of the thread for so long; 0: it has not. */
  readonly shareWaitMs: number;
  /** Does one piece. True: there is more. Must not throw. */
  serve(): boolean;
}

export interface GroupQueueOptions {
  readonly clock: Clock;
  /** So many frames lie ready for everybody that a piece of MLS work is not heard. */
  readonly areFramesAhead: () => boolean;
}

export class GroupQueue {
  readonly #options: GroupQueueOptions;
  readonly #waiting = new Set<GroupWaiter>();
  /** Work that nobody needs yet, by whose it is: done when there is no other. */
  readonly #spare = new Map<object, () => void>();
  #timer: { readonly timer: Timer; readonly atMs: number } | undefined;
  #sliceMs = 0;
  /** When a piece was done last, or the first of those that wait came. */
  #servedMs = 0;

  constructor(options: GroupQueueOptions) {
    this.#options = options;
  }

  /** Nobody waits, and MLS work may be done at once. */
  get isFree(): boolean {
    return this.#waiting.size === 0 && this.#sliceMs < SLICE_MS_MAX && this.#options.areFramesAhead();
  }

  /** Its `serve` is called when its turn has come, until that returns false. */
  enter(waiter: GroupWaiter): void {
    if (this.#waiting.size === 0) this.#servedMs = this.#options.clock.now();
    this.#waiting.add(waiter);
    this.#arm(0);
  }

  leave(waiter: GroupWaiter): void {
    this.#waiting.delete(waiter);
    this.#rest();
  }

  /** `work`, which must not throw, is done once while nobody has anything more urgent to do; or never. */
  enterSpare(owner: object, work: () => void): void {
    this.#spare.set(owner, work);
    this.#arm(0);
  }

  leaveSpare(owner: object): void {
    this.#spare.delete(owner);
    this.#rest();
  }

  /** Counts what was done in this turn of the event loop, by whomever. */
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
    if (this.#waiting.size > 0 || this.#spare.size > 0 || this.#sliceMs > 0) return;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
  }

  #run(): void {
    this.#timer = undefined;
    this.#sliceMs = 0;
    const areFramesAhead = this.#options.areFramesAhead();
    const isHeldUp = !areFramesAhead && this.#options.clock.now() - this.#servedMs < HELD_UP_MS_MAX;
    if (!isHeldUp && !this.#serveNext() && areFramesAhead) this.#doSpare();
    if (this.#waiting.size === 0 && this.#spare.size === 0) return;
    this.#arm(Math.max(this.#nextDelayMs, areFramesAhead ? 0 : RECHECK_MS));
  }

  /** False: nobody may be served. */
  #serveNext(): boolean {
    const next = this.#pick();
    if (next === undefined) return false;
    this.#servedMs = this.#options.clock.now();
    if (!next.serve()) this.#waiting.delete(next);
    return true;
  }

  #doSpare(): void {
    const [first] = this.#spare;
    if (first === undefined) return;
    const [owner, work] = first;
    this.#spare.delete(owner);
    work();
  }

  #pick(): GroupWaiter | undefined {
    let first: GroupWaiter | undefined;
    for (const waiter of this.#waiting) {
      if (waiter.shareWaitMs === 0 && (first === undefined || waiter.rankMs < first.rankMs)) first = waiter;
    }
    return first;
  }

  get #nextDelayMs(): number {
    let delayMs = this.#spare.size > 0 ? 0 : Number.POSITIVE_INFINITY;
    for (const { shareWaitMs } of this.#waiting) delayMs = Math.min(delayMs, Math.ceil(shareWaitMs));
    return delayMs;
  }
}
