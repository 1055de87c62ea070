// What the pacer thread is told when it starts, and what it tells the main thread. Everything else it hears from audio
// workers, over a port of each that the main thread passes on. Main and pacer thread.

import type { WorkerEvent } from "./events.ts";

/** The whole of it: what workerData is. */
export interface PacerStart {
  /** The thread's WorkMark. */
  readonly markMemory: SharedArrayBuffer;
  /** With which workers wake it (media/pacer/bell.ts). */
  readonly bellMemory: SharedArrayBuffer;
}

/** Room for media/pacer/bell.ts, whose two ends are both on other threads than the one that makes it. */
export const BELL_BYTES = 24;

/** Its own messages; what the main thread posts are ports. */
export type ThreadMessage = Extract<WorkerEvent, { readonly type: "ready" | "log" }>;
