// One request at a time of each connection. A client may send the next ones before it has the answer to the first; all that
// arrive together would else be handled in one go, and nobody else would be heard meanwhile. Main thread; the first that the
// REST server asks.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";

export class ConnectionLines {
  readonly #clock: Clock;
  /** The end of the last request of each connection, while it is being answered. */
  readonly #last = new WeakMap<Socket, Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined when it is the request's turn, else a promise of it. */
  enter({ socket }: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const before = this.#last.get(socket);
    const ended = new Promise<void>((resolve) => {
      response.once("close", () => {
        if (this.#last.get(socket) === ended) this.#last.delete(socket);
        resolve();
      });
    });
    this.#last.set(socket, ended);
    if (before === undefined) return undefined;
    // No more of them is read meanwhile.
    socket.pause();
    return before.then(() => this.#turn(socket, ended));
  }

  async #turn(socket: Socket, ended: Promise<void>): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.after(0, resolve));
    // Nobody would hear the answer.
    if (socket.destroyed) await new Promise<never>(() => undefined);
    // The body of the last one may not be there yet.
    if (this.#last.get(socket) === ended) socket.resume();
  }
}
