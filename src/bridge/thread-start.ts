// What audio and probe threads share at start: they write into shared memory which thread they are and that they are
// alive, and survive uncaught errors. Called by the entries, main.ts and probe-main.ts.

import type { Clock } from "../lib/clock.ts";
import { ownThreadNumber } from "../lib/thread-cpu.ts";
import type { Logger } from "../log/log.ts";
import { HEARTBEAT_INTERVAL_MS, Heartbeat } from "./heartbeat.ts";

/** Failures without an owner, each within a minute of the previous one, after which the thread is restarted. */
const STRAYS_MAX = 20;
const STRAY_MEMORY_MS = 60_000;

/** Which thread fails, and where failures are reported. */
interface StraysOptions {
  /** For the log: "the probe thread". */
  readonly threadName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Attributes the failure to the owner that the thread was working for. False: the owner is unknown. */
  readonly attribute: (error: unknown) => boolean;
}

/** Opens the thread's own end of its heartbeat. */
export function openHeartbeat(memory: SharedArrayBuffer): Heartbeat {
  const heartbeat = new Heartbeat(memory);
  heartbeat.threadNumber = ownThreadNumber();
  return heartbeat;
}

/** Shows five times a second from now on that the thread lives; `onHeartbeat` is what else it has to see to as often. */
export function startHeartbeat(heartbeat: Heartbeat, clock: Clock, onHeartbeat = (): void => undefined): void {
  const beat = (): void => {
    heartbeat.beat();
    onHeartbeat();
    clock.after(HEARTBEAT_INTERVAL_MS, beat);
  };
  beat();
}

/**
 * Handles uncaught errors and unhandled rejections: each is attributed to the owner whose time slice it was, and the
 * thread keeps running.
 */
export function catchStrays({ threadName, clock, logger, attribute }: StraysOptions): void {
  let strayCount = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  const onStray = (error: unknown): void => {
    if (attribute(error)) return;
    logger.error(`uncaught error on ${threadName}: it belongs to no player or request`, { error });
    strayCount = clock.now() - lastMs < STRAY_MEMORY_MS ? strayCount + 1 : 1;
    lastMs = clock.now();
    // Too many failures in a row end the thread: the main thread starts another.
    if (strayCount >= STRAYS_MAX) process.exit(1);
  };
  process.on("uncaughtException", onStray);
  process.on("unhandledRejection", onStray);
}
