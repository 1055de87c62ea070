// The WebSocket of a session for the first milliseconds: what the session sends is held back until the client has answered
// a ping, and what it sends is carried out after that, so that nothing is answered before `ready`. Clients that begin to
// read a moment after the answer to the handshake lose what comes with it (cloudstorm 0.17, so lavacord 3.1.0), and one
// that gives up while it is answered would lose all that has waited for it. Main thread; made by web-socket-endpoint.ts.

import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";
import type { ClientOrigin, SessionSocket } from "../sessions/session-socket.ts";

/** Between the answer to the handshake and the ping; clients are used to 5 to 10 ms from Lavalink. */
const HOLD_MS = 7;
/** A client that answers no ping gets its messages after this time. */
const PONG_MS_MAX = 1000;
/** The answer fits any socket's buffer. If it is not flushed after this time, nothing is gained by more waiting. */
const FLUSH_MS_MAX = 50;
/** Messages of the client that wait. */
const WAITING_MAX = 16;

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
  #waitingCount = 0;

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
    webSocket.once("pong", () => this.#release());
    let isAsked = false;
    const ask = (): void => {
      if (isAsked || this.#held === undefined) return;
      isAsked = true;
      webSocket.ping();
      clock.after(PONG_MS_MAX, () => this.#release());
    };
    const hold = (): void => void clock.after(HOLD_MS, ask);
    if (connection.writableLength === 0) {
      hold();
      return;
    }
    connection.write("", hold);
    clock.after(FLUSH_MS_MAX, ask);
  }

  /** Carries out what the client asks for, in order: at once, or when the held messages have been passed on. */
  receive(work: () => void): void {
    if (this.#held === undefined) {
      work();
      return;
    }
    // Until then it is not listened to any more.
    if (++this.#waitingCount === WAITING_MAX) this.#webSocket.pause();
    void this.released.then(work);
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
