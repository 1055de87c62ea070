// So many at once, the others wait in line, and the line has an end. Plugin thread; requests and programs take places.

import { SourceError } from "../../plugin-api/plugin.ts";

export interface PlacesOptions {
  readonly runningMax: number;
  readonly waitingMax: number;
  /** "requests", for the error. */
  readonly what: string;
}

export class Places {
  readonly #options: PlacesOptions;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  /**
   * Resolves with what gives the place back, once. `runningMax`: fewer or more than usual. Rejects with a SourceError
   * `busy` where too many wait, or the reason of `signal`.
   */
  async take(signal: AbortSignal, runningMax = this.#options.runningMax): Promise<() => void> {
    signal.throwIfAborted();
    while (this.#running >= Math.max(1, runningMax)) await this.#wait(signal);
    this.#running += 1;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#running -= 1;
      const [next] = this.#waiting;
      next?.();
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    const { waitingMax, what } = this.#options;
    if (this.#waiting.size >= waitingMax) {
      return Promise.reject(new SourceError("busy", `more than ${waitingMax} ${what} of this plugin wait already`));
    }
    return new Promise((resolve, reject) => {
      const go = (): void => {
        this.#waiting.delete(go);
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#waiting.delete(go);
        reject(signal.reason);
      };
      this.#waiting.add(go);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
