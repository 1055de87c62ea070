// Serves one request at a time per connection. A client may send further requests before it has the answer to the
// first; all that arrive together would otherwise be handled in one go, and block other clients meanwhile. Main thread;
// the first step of the REST server.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import { type InboundConnection, inboundConnectionOf } from "./inbound-connection.ts";

export class ConnectionLines {
  readonly #clock: Clock;
  /** The end of the last request of each connection that has one to answer. */
  readonly #lastEnds = new WeakMap<InboundConnection, Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined when the request may start, otherwise a promise that resolves then. */
  enter(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const socket = inboundConnectionOf(request);
    // Requests that arrived with the others are still delivered, although the answer would reach no client.
    if (socket.destroyed) return never();
    const before = this.#lastEnds.get(socket);
    const ended = new Promise<void>((resolve) =>
      response.once("close", () => {
        if (this.#lastEnds.get(socket) === ended) this.#lastEnds.delete(socket);
        resolve();
      }),
    );
    this.#lastEnds.set(socket, ended);
    if (before === undefined) return undefined;
    // There are some dozens in a slice at most. To pause would not do: Node resumes when a request is whole.
    socket.hold();
    return before.then(() => this.#proceed(socket, ended));
  }

  async #proceed(socket: InboundConnection, ended: Promise<void>): Promise<void> {
    await pause(this.#clock, 0);
    // The answer would reach no client.
    if (socket.destroyed) await never();
    // The body of the last one may not be there yet.
    if (this.#lastEnds.get(socket) === ended) socket.release();
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
