// One end of the port between a player's owner worker and its render worker. Incoming messages run as work of the
// player, and an exception there ends that player's track. Audio thread.

import type { MessagePort } from "node:worker_threads";

interface RelayListener<In> {
  onMessage(message: In): void;
  /** The other end was closed or lost. Not called for the end that closes. */
  onClosed(): void;
}

/** Messages arrive in order, as structured clones; those sent after either end has closed are lost. */
export class RelayPort<Out, In> {
  readonly #port: MessagePort;
  readonly #guard: (work: () => void) => void;
  #isClosed = false;

  /** `guard` does the work of one message in the player's name (media/scheduler/error-boundary.ts). */
  constructor(port: MessagePort, guard: (work: () => void) => void) {
    this.#port = port;
    this.#guard = guard;
  }

  /** Called once per end. Messages that arrived earlier are delivered then. */
  listen(listener: RelayListener<In>): void {
    this.#port.on("message", (message) => {
      // The other end is another audio worker of this node, compiled with the same contract.
      if (!this.#isClosed) this.#guard(() => listener.onMessage(message as In));
    });
    this.#port.on("close", () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      this.#guard(() => listener.onClosed());
    });
  }

  /** Does nothing once either end has closed. */
  send(message: Out): void {
    if (!this.#isClosed) this.#port.postMessage(message);
  }

  /** Notifies the other end, but not this end's listener. */
  close(): void {
    this.#isClosed = true;
    this.#port.close();
  }
}
