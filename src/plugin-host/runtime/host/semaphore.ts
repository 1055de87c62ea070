// Semaphore with optional limits per caller and errors that plugins know. Plugin thread; used for requests, programs and
// the plugin's pools.

import { KeyedSemaphore } from "../../../lib/keyed-semaphore.ts";
import { SourceError } from "../../../plugin-api/plugin.ts";

interface SemaphoreOptions {
  readonly runningMax: number;
  readonly waitingMax: number;
  /** "requests", for the error. */
  readonly what: string;
}

export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #semaphore: KeyedSemaphore;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
    this.#semaphore = new KeyedSemaphore(options);
  }

  /**
   * Resolves with a function that releases the permit, once. `runningMax`: fewer or more than usual, at least 1.
   * Rejects with a SourceError `busy` if too many wait, or with the reason of `signal`.
   */
  async take(signal: AbortSignal, runningMax = this.#options.runningMax): Promise<() => void> {
    const { waitingMax, what } = this.#options;
    // NaN must not mean no limit.
    const max = Math.max(1, runningMax || 1);
    const permit = await this.#semaphore.acquire({
      limits: [{ key: what, max }],
      signal,
      busy: () => new SourceError("busy", `more than ${waitingMax} ${what} of this plugin wait already`),
    });
    return () => permit.release();
  }
}
