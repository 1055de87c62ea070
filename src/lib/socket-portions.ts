// Makes HTTP parsing stoppable, and short: undici's parser takes all that a socket has buffered at once, as often as more has
// come, and when it is paused in the middle it puts the rest back, upon which the socket fetches as much again. Here sockets
// hand out portions, and all together only so much in one turn of the event loop. Used on all threads; a leaf.

import type { Socket } from "node:net";
import type { buildConnector } from "undici";

/** What the parser is given, and may put back, at once. */
const PORTION_BYTES = 16 * 1024;
/** For all sockets in one turn: parsed in less than a millisecond, whatever it is. */
const TURN_BYTES = 64 * 1024;

export class SocketPortions {
  #bytesLeft = TURN_BYTES;
  /** Those that had more in this turn. */
  readonly #waiting = new Set<Socket>();

  /** The same connector; what reads its sockets without saying how much gets a portion, or nothing until the next turn. */
  portioned(connect: buildConnector.connector): buildConnector.connector {
    return (target, callback) => {
      connect(target, (...outcome) => {
        if (outcome[0] === null) this.#readInPortions(outcome[1]);
        callback(...outcome);
      });
    };
  }

  #readInPortions(socket: Socket): void {
    const read = socket.read.bind(socket);
    socket.read = (sizeBytes) => {
      // Of an empty socket nothing is asked for by size: only so it tells of its end.
      if (sizeBytes !== undefined || socket.readableLength === 0) return read(sizeBytes);
      if (this.#bytesLeft <= 0) {
        this.#waiting.add(socket);
        return null;
      }
      const portionBytes = Math.min(socket.readableLength, PORTION_BYTES);
      if (this.#bytesLeft === TURN_BYTES) setImmediate(() => this.#beginTurn());
      this.#bytesLeft -= portionBytes;
      return read(portionBytes);
    };
    socket.once("close", () => this.#waiting.delete(socket));
  }

  #beginTurn(): void {
    this.#bytesLeft = TURN_BYTES;
    for (const socket of [...this.#waiting]) {
      if (this.#bytesLeft <= 0) return;
      this.#waiting.delete(socket);
      // Who waits for it reads on.
      socket.emit("readable");
    }
  }
}
