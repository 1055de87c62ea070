// The WebSocket of a session for the first milliseconds: what the session sends is held back until the answer to the
// handshake has been flushed and read, and the client is not listened to, so that nothing is answered before `ready`.
// Clients that begin to read a moment after the answer lose what comes with it (cloudstorm 0.17, so lavacord 3.1.0).
// Main thread; made by web-socket-endpoint.ts.

import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";
import type { ClientOrigin, SessionSocket } from "../sessions/session-socket.ts";

/** Between the answer to the handshake and the first message; clients are used to 5 to 10 ms from Lavalink. */
const HOLD_MS = 7;
/** The answer fits any socket's buffer. If it is not flushed after this time, nothing is gained by more waiting. */
const FLUSH_MS_MAX = 50;

interface HeldMessage {
  readonly text: string;
  readonly onSent: (error?: Error | null) => void;
}

/** A session's socket; sends in order. */
export class HeldSocket implements SessionSocket {
  /** Resolves when the held messages have been passed on, or never will be. */
  readonly released: Promise<void>;
  readonly origin: ClientOrigin | undefined;
  readonly #webSocket: WebSocket;
  /** Undefined: released. */
  #held: HeldMessage[] | undefined = [];
  #onReleased: () => void = () => undefined;

  /** The answer to the handshake has just been written to `connection`. */
  constructor(
    webSocket: WebSocket,
    connection: Pick<Socket, "writableLength" | "write">,
    clock: Clock,
    origin?: ClientOrigin,
  ) {
    this.#webSocket = webSocket;
    this.origin = origin;
    this.released = new Promise((resolve) => {
      this.#onReleased = resolve;
    });
    webSocket.pause();
    const hold = (): void => void clock.after(HOLD_MS, () => this.#release());
    if (connection.writableLength === 0) {
      hold();
      return;
    }
    connection.write("", hold);
    clock.after(FLUSH_MS_MAX, () => this.#release());
  }

  /** Without the held bytes: that they wait is no sign of a client that does not read. */
  get bufferedAmount(): number {
    return this.#webSocket.bufferedAmount;
  }

  send(text: string, onSent: HeldMessage["onSent"]): void {
    if (this.#held === undefined) {
      this.#webSocket.send(text, onSent);
      return;
    }
    this.#held.push({ text, onSent });
  }

  close(code: number, reason?: string): void {
    this.#release();
    this.#webSocket.close(code, reason);
  }

  terminate(): void {
    this.drop();
    this.#webSocket.terminate();
  }

  /** The connection is lost: held messages count as not sent. */
  drop(): void {
    this.#held = undefined;
    this.#onReleased();
  }

  #release(): void {
    const held = this.#held;
    if (held === undefined) return;
    this.drop();
    for (const { text, onSent } of held) this.#webSocket.send(text, onSent);
    this.#webSocket.resume();
  }
}
