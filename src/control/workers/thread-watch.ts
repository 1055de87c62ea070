// Detects that one of our threads hangs: its heartbeat in shared memory stops while it uses the processor, or for very
// long. On an overloaded machine a thread may not reach its timers for half a second, but then it has hardly run
// either. Checks are counted, not seconds: while the main thread does not check, no thread counts as hanging. Main
// thread.

import type { Heartbeat } from "../../bridge/heartbeat.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { ThreadTimes } from "../../lib/thread-cpu.ts";

/** Checks without a heartbeat after which it is worth asking the system: a miss is normal. */
const ASK_AFTER = 1;
/**
 * A thread that has used this much processor time since then without reaching its timers hangs. With the checks before
 * that is 0.8 s: a slow machine may take half a second for work that is meant to be short.
 */
const HANGING_CPU_MS = 500;
/**
 * Looks in a row after which it hangs where its times are not known, and where they are: it waits for something that is
 * no processor.
 */
const CHECKS_WITHOUT_CPU = 5;
const CHECKS_MAX = 15;
/** A thread that has waited for a processor for this share of the time would continue if it had one. */
const STARVED_SHARE = 0.5;
/**
 * While it begins one piece of work after the other without coming round to its timers: many connections at once, or a
 * loop of promises that never ends.
 */
const WORKING_PATIENCE = 5;

interface ThreadWatchOptions {
  readonly heartbeat: Heartbeat;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** The thread's processor times so far; undefined where the system does not report them. */
  readonly readTimes: () => ThreadTimes | undefined;
  /** Called at most once per `start`. */
  readonly onSilent: () => void;
}

/** Checks in a row at which one value did not change, and the processor times since the first. */
class Stillness {
  readonly #intervalMs: number;
  #value = 0;
  #checks = 0;
  #before: ThreadTimes | undefined;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  reset(value: number): void {
    this.#value = value;
    this.#checks = 0;
  }

  check(value: number, readTimes: ThreadWatchOptions["readTimes"]): void {
    if (value !== this.#value) {
      this.reset(value);
      return;
    }
    this.#checks += 1;
    if (this.#checks === ASK_AFTER) this.#before = readTimes();
  }

  isTooLong(patience: number, readTimes: ThreadWatchOptions["readTimes"]): boolean {
    if (this.#checks <= ASK_AFTER) return false;
    const before = this.#before;
    const now = readTimes();
    if (now === undefined || before === undefined) return this.#checks >= CHECKS_WITHOUT_CPU * patience;
    if (now.cpuMs - before.cpuMs >= HANGING_CPU_MS * patience) return true;
    const passedMs = (this.#checks - ASK_AFTER) * this.#intervalMs;
    const isStarved = now.queuedMs - before.queuedMs >= passedMs * STARVED_SHARE;
    return this.#checks >= CHECKS_MAX * patience && !isStarved;
  }
}

export class ThreadWatch {
  readonly #options: ThreadWatchOptions;
  readonly #beats: Stillness;
  /** Neither a heartbeat nor a new piece of work. */
  readonly #signs: Stillness;
  #timer: Timer | undefined;

  constructor(options: ThreadWatchOptions) {
    this.#options = options;
    this.#beats = new Stillness(options.intervalMs);
    this.#signs = new Stillness(options.intervalMs);
  }

  start(): void {
    this.stop();
    const { beats, steps } = this.#options.heartbeat;
    this.#beats.reset(beats);
    this.#signs.reset(beats + steps);
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer = this.#options.clock.after(this.#options.intervalMs, () => this.#check());
  }

  #check(): void {
    const { heartbeat, readTimes, onSilent } = this.#options;
    const { beats, steps } = heartbeat;
    this.#beats.check(beats, readTimes);
    this.#signs.check(beats + steps, readTimes);
    const isSilent = this.#signs.isTooLong(1, readTimes) || this.#beats.isTooLong(WORKING_PATIENCE, readTimes);
    if (isSilent) onSilent();
    else this.#arm();
  }
}
