// How often and how soon a lost upstream is opened again. Audio thread.

import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";

/** Pauses before the tries: six of them over twenty seconds, the first at once. */
const RETRY_DELAYS_MS = [0, 500, 1_500, 3_000, 5_000, 10_000];
/**
 * New data that counts as recovered; with less, a server that sends one byte per connection would be retried forever.
 */
const PROGRESS_BYTES = 16 * 1024;

export interface RetryLimits {
  /** At most six, the default. */
  readonly triesMax?: number;
  /** New data that counts as recovered; default 16 KiB. */
  readonly progressBytes?: number;
}

/** The tries of one upstream. Enough progress gives all of them back. */
export class RetryBudget {
  readonly #clock: Clock;
  readonly #limits: Required<RetryLimits>;
  #triesUsed = 0;
  #progressBytes = 0;

  constructor(clock: Clock, limits: RetryLimits = {}) {
    this.#clock = clock;
    this.#limits = { triesMax: RETRY_DELAYS_MS.length, progressBytes: PROGRESS_BYTES, ...limits };
  }

  get triesUsed(): number {
    return this.#triesUsed;
  }

  /** Notes received data. */
  addProgress(sizeBytes: number): void {
    if (this.#triesUsed === 0) return;
    this.#progressBytes += sizeBytes;
    if (this.#progressBytes >= this.#limits.progressBytes) this.reset();
  }

  reset(): void {
    this.#triesUsed = 0;
    this.#progressBytes = 0;
  }

  /** Waits for the next try. False: none is left, or the signal fired. */
  async waitForTry(signal: AbortSignal): Promise<boolean> {
    const delayMs = RETRY_DELAYS_MS[this.#triesUsed];
    const isUsedUp = delayMs === undefined || this.#triesUsed >= this.#limits.triesMax;
    if (isUsedUp || signal.aborted) return false;
    this.#triesUsed++;
    if (delayMs > 0) await pause(this.#clock, delayMs, signal);
    return !signal.aborted;
  }
}
