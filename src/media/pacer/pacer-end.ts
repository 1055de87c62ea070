// A pacer as an audio worker sees it: in another thread (remote-pacer.ts) or in the same one (local-pacer.ts). Held by
// pacer-link.ts. Audio thread.

import type { PacerCommand, PacerEvent } from "./pacer-messages.ts";

export interface PacerEnd {
  /** Added to the worker's clock, gives the clock of the deadlines. */
  readonly offsetMs: number;
  post(command: PacerCommand): void;
  /** A frame has been put into a ring without others, due at `dueMs` of the worker's clock. */
  onPut(dueMs: number): void;
  /** Gives the pacer a processor if it has none. Call between two pieces of work; `nowMs` of the worker's clock. */
  yieldToPacer(nowMs: number): void;
  /** Sets the handler of the pacer's events. Called once. */
  listen(onEvent: (event: PacerEvent) => void): void;
  /** The worker is closing. */
  close(): void;
}
