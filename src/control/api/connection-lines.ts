// One request at a time of each connection. A client may send the next ones before it has the answer to the first; all that
// arrive together would else be handled in one go, and nobody else would be heard meanwhile. Main thread; the first that the
// REST server asks.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { type InboundConnection, inboundConnectionOf } from "./inbound-connection.ts";

interface Line {
  /** The end of its last request. */
  last: Promise<void>;
  count: number;
}

export class ConnectionLines {
  readonly #clock: Clock;
  /** Of connections with a request that is being answered. */
  readonly #lines = new WeakMap<InboundConnection, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined when it is the request's turn, else a promise of it. */
  enter(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const socket = inboundConnectionOf(request);
    const line = this.#lines.get(socket);
    // What was received with the others is still handed out, and nobody would hear the answer.
    if (socket.destroyed) return never();
    const ended = new Promise<void>((resolve) => response.once("close", () => resolve(this.#leave(socket))));
    this.#lines.set(socket, { last: ended, count: (line?.count ?? 0) + 1 });
    if (line === undefined) return undefined;
    // There are some dozens in a slice at most. To pause would not do: Node resumes when a request is whole.
    socket.hold();
    return line.last.then(() => this.#turn(socket, ended));
  }

  #leave(socket: InboundConnection): void {
    const line = this.#lines.get(socket);
    if (line === undefined) return;
    line.count -= 1;
    if (line.count === 0) this.#lines.delete(socket);
  }

  async #turn(socket: InboundConnection, ended: Promise<void>): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.after(0, resolve));
    // Nobody would hear the answer.
    if (socket.destroyed) await never();
    // The body of the last one may not be there yet.
    if (this.#lines.get(socket)?.last === ended) socket.release();
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
