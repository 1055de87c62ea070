// What the node does when its audio threads approach their limit, before any audio is late: players move to a thread
// with less load, libopus complexity is lowered, one step at a time for all players, and when that is not enough, or
// the encoder is our own, further players are refused. When there is capacity again, the complexity is raised. Main
// thread; decides, worker-pool.ts carries out.

import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";

/** Complexities of libopus that differ in cost; 10, 9 and 8 cost the same (docs/benchmarks.md). */
const STEPS = [10, 7, 5, 4, 1, 0] as const;

/**
 * Loads of the busiest audio thread: the share of its time spent making and sending frames. Reading, garbage collection
 * and new connections need the rest. Above the first, encoders work less hard.
 */
const LOAD_HIGH = 0.6;
/** Below this for long, they work harder again. A step up costs at most 1.4 times as much. */
const LOAD_LOW = 0.4;
/** Before that, from here on, players move to a thread that has so much less to do. */
const LOAD_MOVING = 0.5;
const LOAD_DIFFERENCE_MIN = 0.2;
/** With encoders at their cheapest, no new player is admitted from here. */
const LOAD_FULL = 0.7;
/** No new player is admitted from here, in any case. */
export const LOAD_OVER = 0.8;
/** Of those two, for others than the owner of most players. */
const LOAD_RESERVED = 0.05;

/** A step shows in the next reports, which come every half second. */
const SETTLE_MS = 1200;
const RAISE_AFTER_MS = 10_000;
/** Raising was a mistake when it has to be undone within this time: the next attempt waits twice as long. */
const MISTAKE_MS = 30_000;
const RAISE_AFTER_MS_MAX = 5 * 60_000;

interface LoadGovernorOptions {
  /** The complexity that is configured, never exceeded. */
  readonly complexityMax: number;
  /** False: encoders have one complexity, so that nothing can be saved with them. */
  readonly canLower: boolean;
  /** False: nothing is done, whatever the load. */
  readonly isOn: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onComplexity: (complexity: number) => void;
}

export class LoadGovernor {
  readonly #options: LoadGovernorOptions;
  readonly #steps: readonly number[];
  #step = 0;
  #changedMs = Number.NEGATIVE_INFINITY;
  #raisedMs = Number.NEGATIVE_INFINITY;
  #calmSinceMs: number | undefined;
  #raiseAfterMs = RAISE_AFTER_MS;
  #refusedCount = 0;

  constructor(options: LoadGovernorOptions) {
    this.#options = options;
    const { complexityMax, canLower } = options;
    this.#steps = [complexityMax, ...STEPS.filter((step) => canLower && step < complexityMax)];
  }

  get complexity(): number {
    return this.#steps[this.#step] ?? this.#options.complexityMax;
  }

  get complexityMax(): number {
    return this.#options.complexityMax;
  }

  /** How many starts have been refused. */
  get refusedCount(): number {
    return this.#refusedCount;
  }

  /** Judges the load of the busiest thread, including what has been promised to it. Called with each report. */
  judge(load: number): void {
    if (!this.#options.isOn) return;
    const nowMs = this.#options.clock.now();
    if (load < LOAD_LOW) this.#calmSinceMs ??= nowMs;
    else this.#calmSinceMs = undefined;
    if (load >= LOAD_HIGH && nowMs - this.#changedMs >= SETTLE_MS) this.#lower(nowMs, load);
    else if (this.#calmSinceMs !== undefined && nowMs - this.#calmSinceMs >= this.#raiseAfterMs)
      this.#raise(nowMs, load);
  }

  /** False: one more player would make others late; `load` is that of the thread it would go to. */
  hasCapacity(load: number): boolean {
    if (!this.#options.isOn) return true;
    const isCheapest = this.#step === this.#steps.length - 1;
    return load < (isCheapest ? LOAD_FULL : LOAD_OVER);
  }

  /**
   * A player of the owner of most players is refused a little earlier, so that others can still start some.
   * `isOfGreediest`: whether its owner is that one (`holdsMost`); asked only where it matters.
   */
  hasCapacityFor(load: number, isOfGreediest: () => boolean): boolean {
    if (!this.hasCapacity(load)) return false;
    return this.hasCapacity(load + LOAD_RESERVED) || !isOfGreediest();
  }

  /** True when it is worth rendering a player's audio on the second thread instead of the first, given their loads. */
  isWorthMoving(fromLoad: number, toLoad: number): boolean {
    return this.#options.isOn && fromLoad >= LOAD_MOVING && fromLoad - toLoad >= LOAD_DIFFERENCE_MIN;
  }

  /** The error of a player that is not admitted; counts it. */
  refuse(load: number): NodeError {
    this.#refusedCount += 1;
    const percent = Math.round(load * 100);
    return new NodeError(
      "node-overloaded",
      `this node has no capacity for another player: its audio threads spend ${percent} % of their time on frames. ` +
        "Current players are not affected. Try again " +
        "later, or another node",
    );
  }

  #lower(nowMs: number, load: number): void {
    if (this.#step === this.#steps.length - 1) return;
    if (nowMs - this.#raisedMs < MISTAKE_MS) this.#raiseAfterMs = Math.min(this.#raiseAfterMs * 2, RAISE_AFTER_MS_MAX);
    this.#step += 1;
    this.#change(nowMs, load, "the audio threads are busy: encoders work less hard");
  }

  #raise(nowMs: number, load: number): void {
    this.#calmSinceMs = nowMs;
    if (this.#step === 0) {
      this.#raiseAfterMs = RAISE_AFTER_MS;
      return;
    }
    this.#step -= 1;
    this.#raisedMs = nowMs;
    this.#change(nowMs, load, "the audio threads have capacity: encoder complexity raised");
  }

  #change(nowMs: number, load: number, message: string): void {
    this.#changedMs = nowMs;
    const { complexity, complexityMax } = this;
    this.#options.logger.info(message, { complexity, complexityMax, load: Math.round(load * 100) / 100 });
    this.#options.onComplexity(complexity);
  }
}

/**
 * Whether `owner` has more than half of what `owners` lists: its account of all, or, where no other account has any, its
 * client of those of the account. An owner that is alone has nobody to leave capacity to.
 */
export function holdsMost(owner: Owner, owners: readonly Owner[]): boolean {
  for (const [level, name] of owner.entries()) {
    const count = owners.filter((other) => other[level] === name).length;
    if (count < owners.length) return count > owners.length / 2;
  }
  return false;
}
