// The layer between a client's TCP connection and the HTTP server: it hands bytes to the parser in small slices, those
// of all connections in rotation, for a few milliseconds at a stretch. So no client is delayed by the traffic of
// others, whatever that costs to parse: Node by itself works through 64 KiB of each connection in one go. Main thread;
// beneath requests and WebSockets alike.

import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../lib/clock.ts";
import { Turns } from "../../lib/turns.ts";
import { PacedSocket } from "../../network/paced-socket.ts";
import { networkOf } from "../access/account.ts";
import { MessageEnds } from "./message-ends.ts";

/** How long slices are handed out before other work on the thread, and new connections, get their time slice. */
const ROUND_MS = 2;
/**
 * Node accepts one new connection per event loop iteration: while more arrive, slices wait for them, but no longer than
 * this.
 */
const GREETING_MS = 10;
/** Slices also stop waiting when this many new connections wait for their first slice. */
const GREETED_MAX = 192;

/**
 * A connection as the HTTP server, the framework and ws use it: the members of `net.Socket` that they need in addition
 * to the stream.
 */
export class InboundConnection extends PacedSocket {
  // Both are still known after the connection has closed.
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  /** Whose turn its slices take: until an account is known, that of the client's network. */
  account: string;

  readonly #messageEnds: MessageEnds;

  constructor(socket: Socket, rounds: Rounds) {
    const messageEnds = new MessageEnds();
    super(socket, {
      schedule: (handOut) => rounds.enter(handOut, { account: this.account, isNew: this.bytesRead === 0 }),
      cut: (slice) => messageEnds.cut(slice),
      // As the HTTP server has its sockets: a client may close its side and still be answered.
      allowHalfOpen: true,
    });
    this.#messageEnds = messageEnds;
    this.remoteAddress = socket.remoteAddress;
    this.remotePort = socket.remotePort;
    this.account = networkOf(socket.remoteAddress ?? "");
    socket.on("timeout", () => this.emit("timeout"));
  }

  /** Call it when the head of a request with a body of this length has been handed out. */
  expectBody(sizeBytes: number): void {
    this.#messageEnds.expectBody(sizeBytes);
  }

  setTimeout(delayMs: number): this {
    this.inner.setTimeout(delayMs);
    return this;
  }

  setNoDelay(isOn?: boolean): this {
    this.inner.setNoDelay(isOn);
    return this;
  }

  setKeepAlive(isOn?: boolean, delayMs?: number): this {
    this.inner.setKeepAlive(isOn, delayMs);
    return this;
  }

  /** Once everything written has been taken. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }
}

/**
 * Slices that are due. Every second one is that of a new connection, the last one first: a short request gets its
 * answer whatever others have started. All the rest follow in the order in which they are due, accounts in turn.
 */
class Rounds {
  readonly #clock: Pick<Clock, "now">;
  readonly #due = new Turns<() => void>();
  readonly #newcomers: (() => void)[] = [];
  #isNewcomerNext = true;
  #isScheduled = false;
  #hasAccepted = false;
  #lastEndMs = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** A connection has arrived in this event loop iteration. */
  accepted(): void {
    this.#hasAccepted = true;
  }

  enter(handOut: () => void, { account, isNew }: { readonly account: string; readonly isNew: boolean }): void {
    if (isNew) this.#newcomers.push(handOut);
    else this.#due.push(handOut, account);
    this.#scheduleRound();
  }

  #scheduleRound(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (!this.#isGreeting()) this.#run();
      if (this.#due.length + this.#newcomers.length > 0) this.#scheduleRound();
    });
  }

  #isGreeting(): boolean {
    const hasAccepted = this.#hasAccepted;
    this.#hasAccepted = false;
    if (!hasAccepted || this.#newcomers.length >= GREETED_MAX) return false;
    return this.#clock.now() - this.#lastEndMs < GREETING_MS;
  }

  #run(): void {
    const endMs = this.#clock.now() + ROUND_MS;
    for (let handOut = this.#next(); handOut !== undefined; handOut = this.#next()) {
      handOut();
      if (this.#clock.now() >= endMs) break;
    }
    this.#lastEndMs = this.#clock.now();
  }

  #next(): (() => void) | undefined {
    this.#isNewcomerNext = !this.#isNewcomerNext;
    const isNewcomer = this.#due.length === 0 || (this.#isNewcomerNext && this.#newcomers.length > 0);
    return isNewcomer ? this.#newcomers.pop() : this.#due.shift();
  }
}

/** From here on the listeners that `server` has for new connections get them paced; add no more of them. */
export function paceConnections(server: Server, clock: Pick<Clock, "now">): void {
  const rounds = new Rounds(clock);
  const listeners = server.listeners("connection") as ((connection: Duplex) => void)[];
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket | InboundConnection) => {
    rounds.accepted();
    // A refused upgrade arrives a second time (upgrade-requests.ts).
    const connection = socket instanceof InboundConnection ? socket : new InboundConnection(socket, rounds);
    for (const listener of listeners) listener.call(server, connection);
  });
}

/** The connection of a request to a server whose connections are paced. */
export function inboundConnectionOf({ socket }: Pick<IncomingMessage, "socket">): InboundConnection {
  // The typings promise a `net.Socket`; Node takes any stream.
  return socket as unknown as InboundConnection;
}
