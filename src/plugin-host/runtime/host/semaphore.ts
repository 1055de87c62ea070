// Semaphore with a bounded queue. Plugin thread; used for requests and programs.

import { SourceError } from "../../../plugin-api/plugin.ts";

interface SemaphoreOptions {
  readonly runningMax: number;
  readonly waitingMax: number;
  /** "requests", for the error. */
  readonly what: string;
}

interface Waiting {
  readonly runningMax: number;
  /** Called with a permit already counted. */
  readonly go: () => void;
}

export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #waiting = new Set<Waiting>();
  #running = 0;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /**
   * Resolves with a function that releases the permit, once. `runningMax`: fewer or more than usual, at least 1.
   * Rejects with a SourceError `busy` if too many wait, or with the reason of `signal`.
   */
  async take(signal: AbortSignal, runningMax = this.#options.runningMax): Promise<() => void> {
    signal.throwIfAborted();
    // NaN must not mean no limit.
    const ownMax = Math.max(1, Number.isNaN(runningMax) ? 1 : runningMax);
    if (this.#running < ownMax) this.#running += 1;
    else await this.#wait(signal, ownMax);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#running -= 1;
      this.#passOn();
    };
  }

  /**
   * Hands free permits to waiting callers. They are counted here and not when the caller resumes: otherwise a caller in
   * between could take the permit, and the one that waited would be last in the queue again.
   */
  #passOn(): void {
    for (const waiting of this.#waiting) {
      if (this.#running >= waiting.runningMax) continue;
      this.#running += 1;
      waiting.go();
    }
  }

  #wait(signal: AbortSignal, runningMax: number): Promise<void> {
    const { waitingMax, what } = this.#options;
    if (this.#waiting.size >= waitingMax) {
      return Promise.reject(new SourceError("busy", `more than ${waitingMax} ${what} of this plugin wait already`));
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        runningMax,
        go: () => {
          this.#waiting.delete(waiting);
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      const onAbort = (): void => {
        this.#waiting.delete(waiting);
        reject(signal.reason);
      };
      this.#waiting.add(waiting);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
