// So much at once and so much per second: what an outsider may make the node do, when it may be much for a moment but
// not for long. Used on all threads; a leaf without domain knowledge.

import type { Clock } from "./clock.ts";

/** Both numbers are above 0, in whatever is counted: requests, bytes, milliseconds. */
export interface TokenBucketOptions {
  readonly clock: Clock;
  /** How much may be spent at once, after a quiet time. */
  readonly burst: number;
  /** Tokens added per second. */
  readonly perSecond: number;
}

/** A token bucket, full at the start. It refuses nothing itself: the caller decides what an empty bucket means. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #left: number;
  #leftAtMs: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#left = options.burst;
    this.#leftAtMs = options.clock.now();
  }

  /**
   * Takes tokens for work that was done. False when there were too few: a debt is left, never larger than the burst.
   */
  spend(amount: number): boolean {
    this.#refill();
    this.#left = Math.max(this.#left - amount, -this.#options.burst);
    return this.#left >= 0;
  }

  /** Counts it only when there is as much: false leaves no debt. */
  take(amount: number): boolean {
    this.#refill();
    if (this.#left < amount) return false;
    this.#left -= amount;
    return true;
  }

  /** Milliseconds until the debt is paid; 0 without a debt. */
  get waitMs(): number {
    this.#refill();
    return this.#left >= 0 ? 0 : (-this.#left / this.#options.perSecond) * 1000;
  }

  #refill(): void {
    const { clock, burst, perSecond } = this.#options;
    const nowMs = clock.now();
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#leftAtMs) / 1000) * perSecond);
    this.#leftAtMs = nowMs;
  }
}
