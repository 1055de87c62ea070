// A relay of a session whose client is at another machine: it keeps what it is given.

import type { MessageRelay } from "../../src/control/sessions/message-relay.ts";
import type { QueuedMessage } from "../../src/control/sessions/resume-queue.ts";

export class FakeRelay implements MessageRelay {
  readonly machineId = "here";
  readonly pushed: QueuedMessage[] = [];
  isClosed = false;
  #number = 0;

  nextNumber(): number {
    return ++this.#number;
  }

  push(message: QueuedMessage): void {
    this.pushed.push(message);
  }

  close(): readonly QueuedMessage[] {
    this.isClosed = true;
    return this.pushed.filter(({ number }) => number !== undefined);
  }

  /** The `thresholdMs` of every event: the argument of FakeSessionPlayer.say. */
  get said(): number[] {
    return this.close().map(({ text }) => (JSON.parse(text) as { thresholdMs: number }).thresholdMs); // as say sent it
  }
}
