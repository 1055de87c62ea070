// So many at once, the others wait in line, and the line has an end. Plugin thread; requests and programs take places.

import { SourceError } from "../../../plugin-api/plugin.ts";

interface SemaphoreOptions {
  readonly runningMax: number;
  readonly waitingMax: number;
  /** "requests", for the error. */
  readonly what: string;
}

interface Waiting {
  readonly runningMax: number;
  /** A place has been counted for it. */
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
   * Resolves with what gives the place back, once. `runningMax`: fewer or more than usual, at least 1. Rejects with a
   * SourceError `busy` where too many wait, or the reason of `signal`.
   */
  async take(signal: AbortSignal, runningMax = this.#options.runningMax): Promise<() => void> {
    signal.throwIfAborted();
    // What is no number must not be no limit.
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
   * Hands free places to those who wait. They are counted here and not when the waiting one wakes up: whoever comes in
   * between would take the place, and the one who has waited would be last in line again.
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
