// Lets some work run at once and has the rest wait in order, within bounds. Plugin thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";

export class Lane {
  readonly #runningMax: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor({ runningMax, waitingMax }: { readonly runningMax: number; readonly waitingMax: number }) {
    this.#runningMax = runningMax;
    this.#waitingMax = waitingMax;
  }

  /** Runs `work` when a permit is free. Rejects with the reason of `signal`, or `busy` when too many wait. */
  async run<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    signal.throwIfAborted();
    if (this.#running >= this.#runningMax) await this.#waitForPermit(signal);
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The permit passes to the longest waiting caller.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #waitForPermit(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax)
      throw new SourceError("busy", "too many podcast feeds are being read");
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(onPermit), 1);
        reject(signal.reason);
      };
      const onPermit = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(onPermit);
    });
  }
}
