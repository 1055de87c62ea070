// One request at a time of each connection. A client may send the next ones before it has the answer to the first; all
// that arrive together would else be handled in one go, and nobody else would be heard meanwhile. Main thread; the
// first that the REST server asks.

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

  /** Undefined when it is the request's turn, else a promise of it. */
  enter(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const socket = inboundConnectionOf(request);
    // What was received with the others is still handed out, and nobody would hear the answer.
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
    // Nobody would hear the answer.
    if (socket.destroyed) await never();
    // The body of the last one may not be there yet.
    if (this.#lastEnds.get(socket) === ended) socket.release();
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
