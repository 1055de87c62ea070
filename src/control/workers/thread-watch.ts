// Notices that a thread of ours hangs: its mark in shared memory stops beating. Looks are counted, not seconds: where the
// whole machine is starved or asleep, the main thread does not look either, and nobody is taken to hang. Main thread.

import type { WorkMark } from "../../bridge/work-mark.ts";
import type { Clock, Timer } from "../../lib/clock.ts";

/** While the thread loads a codec: reading a library of many megabytes from a slow disk takes its time. */
const LOADING_PATIENCE = 10;

export interface ThreadWatchOptions {
  readonly mark: WorkMark;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** Looks in a row without a beat after which the thread counts as hanging. */
  readonly missesMax: number;
  /** Called at most once per `start`. */
  readonly onSilent: () => void;
}

export class ThreadWatch {
  readonly #options: ThreadWatchOptions;
  #timer: Timer | undefined;
  #beats = 0;
  #misses = 0;

  constructor(options: ThreadWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.stop();
    this.#beats = this.#options.mark.beats;
    this.#misses = 0;
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer = this.#options.clock.after(this.#options.intervalMs, () => this.#look());
  }

  #look(): void {
    const { mark, missesMax, onSilent } = this.#options;
    const { beats } = mark;
    this.#misses = beats === this.#beats ? this.#misses + 1 : 0;
    this.#beats = beats;
    if (this.#misses < (mark.isLoading ? missesMax * LOADING_PATIENCE : missesMax)) this.#arm();
    else onSilent();
  }
}
