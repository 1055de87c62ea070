// One request at a time of each connection. A client may send the next ones before it has the answer to the first; all that
// arrive together would else be handled in one go, and nobody else would be heard meanwhile. Main thread; the first that the
// REST server asks.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";

/** Requests of one connection that may wait; whoever sends more at once does not mean well. */
const WAITING_MAX = 256;

interface Line {
  /** The end of its last request. */
  last: Promise<void>;
  count: number;
}

export class ConnectionLines {
  readonly #clock: Clock;
  /** Of connections with a request that is being answered. */
  readonly #lines = new WeakMap<Socket, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined when it is the request's turn, else a promise of it. A connection with too many that wait is ended. */
  enter({ socket }: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const line = this.#lines.get(socket);
    if (line !== undefined && line.count >= WAITING_MAX) socket.destroy();
    // What was received with the others is still handed out, and nobody would hear the answer.
    if (socket.destroyed) return never();
    const ended = new Promise<void>((resolve) => response.once("close", () => resolve(this.#leave(socket))));
    this.#lines.set(socket, { last: ended, count: (line?.count ?? 0) + 1 });
    if (line === undefined) return undefined;
    // No more of them is read meanwhile.
    socket.pause();
    return line.last.then(() => this.#turn(socket, ended));
  }

  #leave(socket: Socket): void {
    const line = this.#lines.get(socket);
    if (line === undefined) return;
    line.count -= 1;
    if (line.count === 0) this.#lines.delete(socket);
  }

  async #turn(socket: Socket, ended: Promise<void>): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.after(0, resolve));
    // Nobody would hear the answer.
    if (socket.destroyed) await never();
    // The body of the last one may not be there yet.
    if (this.#lines.get(socket)?.last === ended) socket.resume();
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
