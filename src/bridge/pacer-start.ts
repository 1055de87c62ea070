// The start data of the pacer thread, and the messages it sends to the main thread. Everything else reaches it from
// audio workers, over one port each that the main thread passes on. Main and pacer thread.

import type { WorkerEvent } from "./events.ts";

/** The whole of it: what workerData is. */
export interface PacerStart {
  /** The thread's Heartbeat. */
  readonly heartbeatMemory: SharedArrayBuffer;
  /** With which workers wake it (media/pacer/wake-up-flag.ts). */
  readonly wakeUpMemory: SharedArrayBuffer;
  /** Of the LeaseEnd that it obeys. Undefined: the node is in no cluster. */
  readonly leaseEndMemory: SharedArrayBuffer | undefined;
}

/** Size of the memory of media/pacer/wake-up-flag.ts, which is made on another thread than those of its two ends. */
export const WAKE_UP_FLAG_BYTES = 24;

/** Messages of the pacer thread; the main thread posts ports. */
export type ThreadMessage = Extract<WorkerEvent, { readonly type: "ready" | "log" }>;
