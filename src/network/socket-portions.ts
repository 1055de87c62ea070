// Bounds what undici's HTTP parser does at once, and lets the reader of a body pause it. The parser takes everything
// that a socket has buffered, as often as more arrives; and it must not be paused by undici's own means: ending the
// connection then throws an assertion out of the socket's events, and bytes that are put back are fetched and copied
// again for every few bytes. Here sockets hand out portions, bounded in total per event loop iteration, and nothing
// while they are held. Used on all threads; a leaf without domain knowledge.

import type { Socket } from "node:net";
import type { buildConnector } from "undici";

/** Bytes given to the parser at once: up to seven hundred pieces of one byte each. */
const PORTION_BYTES = 4 * 1024;
/** For all sockets in one event loop iteration: parsed in less than a millisecond, whatever the bytes are. */
const ITERATION_BYTES = 64 * 1024;
/** Cost of a piece of a body beside its bytes. */
const PIECE_BYTES = 96;
/** Portion size of a head, which may have one field for every five bytes, and the cost of each of its bytes. */
const HEAD_PORTION_BYTES = 1024;
const HEAD_BYTE_COST = 32;

/** Controls the socket that an answer arrives on. */
export interface SocketFlow {
  /** True from `hold` until `release` or `pump`. */
  readonly isHeld: boolean;
  /** The next bytes are taken to be a head. */
  readonly isHead: boolean;
  /** The connection broke with bytes left that will not be handed out. */
  readonly isCut: boolean;
  /** A piece of a body was taken out. */
  notePiece(): void;
  /** Nothing more is handed out until `pump`. */
  hold(): void;
  /** Releases the socket for the next head; called while the parser runs, which then continues. */
  release(): void;
  /** No longer held, and what the socket has is parsed now. Not to be called while the parser is at work. */
  pump(): void;
}

/** One per thread: all connectors that it wraps share 64 KiB of parsing per event loop iteration. */
export class SocketPortions {
  #bytesLeft = ITERATION_BYTES;
  #isIterationStarted = false;
  #current: SocketFlow | undefined;
  /** Sockets that had more in this iteration. */
  readonly #waiting = new Set<Socket>();

  /** The flow of the socket whose portion is being parsed; for callbacks of the parser. */
  get current(): SocketFlow | undefined {
    return this.#current;
  }

  /** Wraps a connector: a reader of its sockets that asks for no particular size gets a portion, or nothing for now. */
  portioned(connect: buildConnector.connector): buildConnector.connector {
    return (target, callback) => {
      connect(target, (...outcome) => {
        if (outcome[0] === null) this.#readInPortions(outcome[1]);
        callback(...outcome);
      });
    };
  }

  #readInPortions(socket: Socket): void {
    const flow = this.#flowOf(socket);
    const read = socket.read.bind(socket);
    socket.read = (sizeBytes) => {
      if (sizeBytes !== undefined) return read(sizeBytes);
      // Once the parser has given up the socket, parse all that has arrived.
      if (flow.isHeld || socket.destroyed) return null;
      // An empty socket is not asked for a size: only then does it report its end.
      if (socket.readableLength === 0) return read();
      if (this.#bytesLeft <= 0) {
        this.#waiting.add(socket);
        return null;
      }
      const { isHead } = flow;
      const portionBytes = Math.min(socket.readableLength, isHead ? HEAD_PORTION_BYTES : PORTION_BYTES);
      this.#spend(isHead ? portionBytes * HEAD_BYTE_COST : portionBytes);
      this.#current = flow;
      const portion: Buffer | null = read(portionBytes);
      return isHead && portion !== null ? copyOf(portion) : portion;
    };
    socket.once("close", () => this.#waiting.delete(socket));
  }

  #flowOf(socket: Socket): SocketFlow {
    let isHeld = false;
    let isHead = true;
    let isCut = false;
    // Before undici's listener, which takes the bytes parsed until then for the whole of a body without length.
    socket.once("error", () => {
      isCut = socket.readableLength > 0;
    });
    return {
      get isHeld() {
        return isHeld;
      },
      get isHead() {
        return isHead;
      },
      get isCut() {
        return isCut;
      },
      notePiece: () => {
        isHead = false;
        this.#spend(PIECE_BYTES);
      },
      hold: () => {
        isHeld = true;
      },
      release: () => {
        isHeld = false;
        isHead = true;
      },
      pump: () => {
        isHeld = false;
        // Wakes the waiting reader.
        socket.emit("readable");
      },
    };
  }

  #spend(sizeBytes: number): void {
    this.#bytesLeft -= sizeBytes;
    if (this.#isIterationStarted) return;
    this.#isIterationStarted = true;
    setImmediate(() => this.#endIteration());
  }

  #endIteration(): void {
    this.#isIterationStarted = false;
    this.#bytesLeft = ITERATION_BYTES;
    for (const socket of [...this.#waiting]) {
      if (this.#bytesLeft <= 0) return;
      this.#waiting.delete(socket);
      socket.emit("readable");
    }
  }
}

/** The parser keeps the head as long as the connection lives, and with it all the 64 KiB that it is a part of. */
function copyOf(head: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(head.length);
  head.copy(copy);
  return copy;
}
