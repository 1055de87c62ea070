// What an audio and a look-up thread do alike when they start: they say in shared memory who they are and that they
// live, and outlive what nobody has caught. Called by the entries, main.ts and lookup-main.ts.

import type { Clock } from "../lib/clock.ts";
import { ownThreadNumber } from "../lib/thread-cpu.ts";
import type { Logger } from "../log.ts";
import { BEAT_MS, WorkMark } from "./work-mark.ts";

/** Failures without an owner, each within a minute of the one before, after which the thread is better begun anew. */
const STRAYS_MAX = 20;
const STRAY_MEMORY_MS = 60_000;

/** Whose failures, and where they are told. */
export interface StraysOptions {
  /** For the log: "the look-up thread". */
  readonly threadName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Gives the failure to whoever the thread was working for. False: that is not known. */
  readonly attribute: (error: unknown) => boolean;
}

/** The thread's own end of its mark. */
export function openOwnMark(memory: SharedArrayBuffer): WorkMark {
  const mark = new WorkMark(memory);
  mark.threadNumber = ownThreadNumber();
  return mark;
}

/** Shows every 50 ms from now on that the thread lives; `onBeat` is what else it has to see to as often. */
export function startBeating(mark: WorkMark, clock: Clock, onBeat = (): void => undefined): void {
  const beat = (): void => {
    mark.beat();
    onBeat();
    clock.after(BEAT_MS, beat);
  };
  beat();
}

/**
 * What a callback or a promise threw that nobody waited for: it belongs to whoever's turn it was, and the thread goes
 * on.
 */
export function catchStrays({ threadName, clock, logger, attribute }: StraysOptions): void {
  let strayCount = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  const onStray = (error: unknown): void => {
    if (attribute(error)) return;
    logger.error(`something failed on ${threadName} that is nobody's`, { error });
    strayCount = clock.now() - lastMs < STRAY_MEMORY_MS ? strayCount + 1 : 1;
    lastMs = clock.now();
    // What fails again and again is lost with the thread: the main thread starts another.
    if (strayCount >= STRAYS_MAX) process.exit(1);
  };
  process.on("uncaughtException", onStray);
  process.on("unhandledRejection", onStray);
}
