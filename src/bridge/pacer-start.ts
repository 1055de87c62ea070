// What the pacer thread is told when it starts, and what it tells the main thread. Everything else it hears from audio
// workers, over a port of each that the main thread passes on. Main and pacer thread.

import type { WorkerEvent } from "./events.ts";

/** The whole of it: what workerData is. */
export interface PacerStart {
  /** The thread's Heartbeat. */
  readonly heartbeatMemory: SharedArrayBuffer;
  /** With which workers wake it (media/pacer/wake-up-flag.ts). */
  readonly wakeUpMemory: SharedArrayBuffer;
}

/** Room for media/pacer/wake-up-flag.ts, whose two ends are both on other threads than the one that makes it. */
export const WAKE_UP_FLAG_BYTES = 24;

/** Its own messages; what the main thread posts are ports. */
export type ThreadMessage = Extract<WorkerEvent, { readonly type: "ready" | "log" }>;
