// How often and how soon a lost upstream is opened again. Audio thread.

import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";

/** Pauses before the tries: six of them over twenty seconds, the first at once. */
const RETRY_DELAYS_MS = [0, 500, 1_500, 3_000, 5_000, 10_000];
/** New data that counts as recovered; less, and a server that gives one byte per connection would be asked for ever. */
const PROGRESS_BYTES = 16 * 1024;

/** The tries of one upstream. Enough progress gives all of them back. */
export class RetryBudget {
  readonly #clock: Clock;
  #triesUsed = 0;
  #progressBytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get triesUsed(): number {
    return this.#triesUsed;
  }

  /** Notes that new data came. */
  addProgress(sizeBytes: number): void {
    if (this.#triesUsed === 0) return;
    this.#progressBytes += sizeBytes;
    if (this.#progressBytes >= PROGRESS_BYTES) this.reset();
  }

  reset(): void {
    this.#triesUsed = 0;
    this.#progressBytes = 0;
  }

  /** Waits for the next try. False: none is left, or the signal fired. */
  async waitForTry(signal: AbortSignal): Promise<boolean> {
    const delayMs = RETRY_DELAYS_MS[this.#triesUsed];
    if (delayMs === undefined || signal.aborted) return false;
    this.#triesUsed++;
    if (delayMs > 0) await pause(this.#clock, delayMs, signal);
    return !signal.aborted;
  }
}
