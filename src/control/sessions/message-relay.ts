// The way of the messages of a session whose client is at another machine. Main thread; control/cluster/ has the real one.

import type { QueuedMessage } from "./resume-queue.ts";

export interface MessageRelay {
  /** The id of this machine, under which those with a number are stored until the other machine has taken them. */
  readonly machineId: string;
  /** The number of the next message that must arrive; ascending, and of this machine's never the same twice. */
  nextNumber(): number;
  /**
   * Passes a message on, in order. One with a number is repeated until it was taken; one without is dropped where it cannot
   * be passed on at once. `written` holds up those with a number; it never rejects. Never throws.
   */
  push(message: QueuedMessage, written?: Promise<void>): void;
  /** Nothing is passed on any more. Returns those with a number that were not taken, oldest first. */
  close(): readonly QueuedMessage[];
}

/** A message of another machine for the client of a session that is here. */
export interface RelayedMessage extends Pick<QueuedMessage, "topic" | "text"> {
  /** The machine that it comes from. */
  readonly machineId: string;
  /** See `MessageRelay.nextNumber`; undefined: it may be dropped. */
  readonly number?: number | undefined;
}
