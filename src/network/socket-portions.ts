// Bounds what undici's HTTP parser does in one go, and lets the reader of a body hold it up. The parser takes all that
// a socket has buffered, as often as more has come; and it must not be paused by undici's own means: whoever ends the
// connection then throws an assertion out of the socket's events, and what is put back is fetched and copied again for
// every few bytes. Here sockets hand out portions, all together only so much in one turn of the event loop, and nothing
// while they are held. Used on all threads; a leaf without domain knowledge.

import type { Socket } from "node:net";
import type { buildConnector } from "undici";

/** What the parser is given at once: up to seven hundred pieces of one byte each. */
const PORTION_BYTES = 4 * 1024;
/** For all sockets in one turn: parsed in less than a millisecond, whatever it is. */
const ITERATION_BYTES = 64 * 1024;
/** What a piece of a body costs beside its bytes. */
const PIECE_BYTES = 96;
/** Of a head, which may be one field for every five bytes: the portion, and what each byte costs. */
const HEAD_PORTION_BYTES = 1024;
const HEAD_BYTE_COST = 32;

/** Hold on the socket that an answer comes from. */
export interface SocketFlow {
  /** True from `hold` until `release` or `pump`. */
  readonly isHeld: boolean;
  /** What comes is taken to be of a head. */
  readonly isHead: boolean;
  /** The connection broke while there was more to hand out, which nobody gets any more. */
  readonly isCut: boolean;
  /** A piece of a body was taken out. */
  notePiece(): void;
  /** Nothing more is handed out until `pump`. */
  hold(): void;
  /** No longer held, the next head may come; for use while the parser is at work, which then goes on. */
  release(): void;
  /** No longer held, and what the socket has is parsed now. Not to be called while the parser is at work. */
  pump(): void;
}

/** One per thread: all connectors that it has portioned share 64 KiB of parsing in a turn of the event loop. */
export class SocketPortions {
  #bytesLeft = ITERATION_BYTES;
  #isIterationStarted = false;
  #current: SocketFlow | undefined;
  /** Those that had more in this turn. */
  readonly #waiting = new Set<Socket>();

  /** The flow of the socket whose portion is being parsed; for what the parser calls. */
  get current(): SocketFlow | undefined {
    return this.#current;
  }

  /** The same connector; what reads its sockets without saying how much gets a portion, or nothing for now. */
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
      // One that the parser has given up would be parsed to the end of what has arrived.
      if (flow.isHeld || socket.destroyed) return null;
      // Of an empty socket nothing is asked for by size: only so it tells of its end.
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
    // Before undici listens, which takes what was parsed until then for the whole of a body without length.
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
        // Who waits for it reads on.
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
