// What an audio and a probe thread do alike when they start: they say in shared memory who they are and that they
// live, and outlive what nobody has caught. Called by the entries, main.ts and probe-main.ts.

import type { Clock } from "../lib/clock.ts";
import { ownThreadNumber } from "../lib/thread-cpu.ts";
import type { Logger } from "../log/log.ts";
import { HEARTBEAT_INTERVAL_MS, Heartbeat } from "./heartbeat.ts";

/** Failures without an owner, each within a minute of the one before, after which the thread is better begun anew. */
const STRAYS_MAX = 20;
const STRAY_MEMORY_MS = 60_000;

/** Whose failures, and where they are told. */
interface StraysOptions {
  /** For the log: "the probe thread". */
  readonly threadName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Gives the failure to whoever the thread was working for. False: that is not known. */
  readonly attribute: (error: unknown) => boolean;
}

/** The thread's own end of its mark. */
export function openHeartbeat(memory: SharedArrayBuffer): Heartbeat {
  const heartbeat = new Heartbeat(memory);
  heartbeat.threadNumber = ownThreadNumber();
  return heartbeat;
}

/** Shows every 50 ms from now on that the thread lives; `onHeartbeat` is what else it has to see to as often. */
export function startHeartbeat(heartbeat: Heartbeat, clock: Clock, onHeartbeat = (): void => undefined): void {
  const beat = (): void => {
    heartbeat.beat();
    onHeartbeat();
    clock.after(HEARTBEAT_INTERVAL_MS, beat);
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
