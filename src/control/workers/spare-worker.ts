// A worker that runs without players: it replaces a lost one at once, where a new one would take a third of a second
// and more to start. There is one while there are players; it is released when they have all been gone for long. Main
// thread.

import type { Clock, Timer } from "../../lib/clock.ts";
import { type WorkerListener, WorkerThread, type WorkerThreadOptions } from "./worker-thread.ts";

/** The start of the first players comes first, and so does that of players that move to the previous spare. */
const START_DELAY_MS = 5000;
/** After a spare that failed. */
const RETRY_DELAY_MS = 30_000;
/** Without a player for this long, it is released. */
const RELEASE_AFTER_MS = 60_000;

export class SpareWorker {
  readonly #clock: Clock;
  readonly #options: () => WorkerThreadOptions;
  #thread: WorkerThread | undefined;
  #timer: Timer | undefined;
  #isNeeded = false;
  #isClosed = false;

  /** `options` returns the options of a new thread. */
  constructor(clock: Clock, options: () => WorkerThreadOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Whether there are players. */
  set isNeeded(isNeeded: boolean) {
    if (isNeeded === this.#isNeeded || this.#isClosed) return;
    this.#isNeeded = isNeeded;
    if (isNeeded && this.#thread === undefined) this.#startIn(START_DELAY_MS);
    else if (isNeeded) this.#timer?.cancel();
    else this.#after(RELEASE_AFTER_MS, () => void this.#release());
  }

  get isReady(): boolean {
    return this.#thread?.isReady === true;
  }

  /** Hands the worker over if it is ready; another one follows. */
  take(listener: WorkerListener): WorkerThread | undefined {
    const thread = this.#thread;
    if (thread?.isReady !== true) return undefined;
    this.#thread = undefined;
    thread.listener = listener;
    if (this.#isNeeded) this.#startIn(START_DELAY_MS);
    return thread;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#release();
  }

  async #release(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.close();
  }

  #startIn(delayMs: number): void {
    this.#after(delayMs, () => {
      this.#thread = new WorkerThread(this.#options(), {
        onReady: () => undefined,
        onReport: () => undefined,
        onEvent: () => undefined,
        onLost: () => {
          this.#thread = undefined;
          if (this.#isNeeded) this.#startIn(RETRY_DELAY_MS);
        },
      });
    });
  }

  #after(delayMs: number, then: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(delayMs, then);
  }
}
