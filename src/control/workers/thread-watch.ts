// Notices that a thread of ours hangs: its mark in shared memory stops beating while it uses the processor, or for very
// long. On a machine that is starved, a thread may not come to its timers for half a second, but then it has hardly run
// either. Looks are counted, not seconds: where the main thread does not look, nobody is taken to hang. Main thread.

import type { WorkMark } from "../../bridge/work-mark.ts";
import type { Clock, Timer } from "../../lib/clock.ts";

/** Looks without a beat after which it is worth asking the system: a miss or two are nothing. */
const ASK_AFTER = 3;
/**
 * A thread that has run so long since then, and came round to nothing, hangs. With the looks before that is 0.65 s: a
 * slow machine may take half a second for what is meant to be short.
 */
const HANGING_CPU_MS = 500;
/**
 * Looks in a row after which it hangs where processor time is not known, and in any case: it may wait for something.
 */
const LOOKS_WITHOUT_CPU = 18;
const LOOKS_MAX = 60;
/**
 * While it begins one piece of work after the other without coming round to its timers: many connections at once, or a
 * loop of promises that never ends.
 */
const WORKING_PATIENCE = 5;

export interface ThreadWatchOptions {
  readonly mark: WorkMark;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** Processor time the thread has used so far, milliseconds; undefined where the system does not tell. */
  readonly readCpuMs: () => number | undefined;
  /** Called at most once per `start`. */
  readonly onSilent: () => void;
}

/** Looks in a row at which one thing did not change, and the processor time used since the third. */
class Stillness {
  #value = 0;
  #looks = 0;
  #cpuBeforeMs: number | undefined;

  reset(value: number): void {
    this.#value = value;
    this.#looks = 0;
  }

  look(value: number, readCpuMs: () => number | undefined): void {
    if (value !== this.#value) {
      this.reset(value);
      return;
    }
    this.#looks += 1;
    if (this.#looks === ASK_AFTER) this.#cpuBeforeMs = readCpuMs();
  }

  isTooLong(patience: number, readCpuMs: () => number | undefined): boolean {
    if (this.#looks <= ASK_AFTER) return false;
    if (this.#looks >= LOOKS_MAX * patience) return true;
    const cpuMs = readCpuMs();
    if (cpuMs === undefined || this.#cpuBeforeMs === undefined) return this.#looks >= LOOKS_WITHOUT_CPU * patience;
    return cpuMs - this.#cpuBeforeMs >= HANGING_CPU_MS * patience;
  }
}

export class ThreadWatch {
  readonly #options: ThreadWatchOptions;
  readonly #beats = new Stillness();
  /** Neither a beat nor a piece of work that was begun. */
  readonly #signs = new Stillness();
  #timer: Timer | undefined;

  constructor(options: ThreadWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.stop();
    const { beats, steps } = this.#options.mark;
    this.#beats.reset(beats);
    this.#signs.reset(beats + steps);
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
    const { mark, readCpuMs, onSilent } = this.#options;
    const { beats, steps } = mark;
    this.#beats.look(beats, readCpuMs);
    this.#signs.look(beats + steps, readCpuMs);
    const isSilent = this.#signs.isTooLong(1, readCpuMs) || this.#beats.isTooLong(WORKING_PATIENCE, readCpuMs);
    if (isSilent) onSilent();
    else this.#arm();
  }
}
