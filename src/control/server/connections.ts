// Every TCP connection to the node's port, in one state at a time, each with a time limit; and limits on their number,
// in total and for those that have not shown the password. So a client that stops half way, or never closes its side,
// costs nothing lasting. Main thread; fed by the HTTP server and by the WebSocket endpoint.
//
//   reading --request whole--> answering --answered--> idle --first bytes--> reading
//      |  `-upgrade--> upgrading --101--> upgraded      |
//      `------------ our side has ended: closing <------'

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../lib/clock.ts";
import { networkOf } from "../access/account.ts";

/** How long a connection may be in one state. */
const TIME_MAX_MS = {
  /** From the first byte that is waited for to the last byte of the body. */
  reading: 30_000,
  /** Until all of the answer is taken. Looking a track up and connecting to a voice server have bounds far below. */
  answering: 120_000,
  /** The timeout that the server announces to its clients as `Keep-Alive: timeout=72`, and a reserve. */
  idle: 75_000,
  /** A client that returns waits for its old connection to show a sign of life; a whole line of logins takes 26 s. */
  upgrading: 30_000,
  /** Pings detect dead ones (socket-liveness.ts). */
  upgraded: Number.POSITIVE_INFINITY,
  /** For the last answer to be taken, and the other side to be closed. */
  closing: 5000,
} as const;
/** The state of a connection. */
export type ConnectionState = keyof typeof TIME_MAX_MS;

/** Behind a reverse proxy everybody has its address; and there a connection soon shows a password. */
const UNKNOWN_PER_NETWORK_MAX = 256;
const UNKNOWN_MAX = 1024;
const CONNECTIONS_MAX = 8192;
/** An account with more than this many connections … */
const ACCOUNT_CONNECTIONS_FREE = 1024;
/** … can have more only while all accounts together have fewer than this. */
const SHARED_CONNECTIONS_MAX = 6144;
const SWEEP_INTERVAL_MS = 1000;

interface Connection {
  readonly socket: Socket;
  /** The network of its address. */
  readonly network: string;
  /** Undefined until it has shown the password or a key. */
  account: string | undefined;
  state: ConnectionState;
  sinceMs: number;
  /** Requests without an answer yet; connection-lines.ts bounds how many. */
  readonly unanswered: Set<IncomingMessage>;
  lastRequest: IncomingMessage | undefined;
  /** Bytes received when it became idle. */
  idleAtBytes: number;
  onAnswered: (() => void) | undefined;
}

export class Connections {
  readonly #clock: Clock;
  readonly #timeoutAnswer: string;
  /** In the order of their arrival. */
  readonly #connections = new Map<Socket, Connection>();
  /** Connections that have not shown the password, in the order of their arrival. */
  readonly #unknown = new Set<Connection>();
  readonly #unknownOf = new Map<string, Set<Connection>>();
  /** By account, in the order in which they became known. */
  readonly #knownOf = new Map<string, Set<Connection>>();
  #sweepTimer: Timer | undefined;

  /** `timeoutAnswer` is sent to a client whose request does not arrive in time. */
  constructor({ clock, timeoutAnswer }: { clock: Clock; timeoutAnswer: string }) {
    this.#clock = clock;
    this.#timeoutAnswer = timeoutAnswer;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#opened(socket));
    server.on("request", (request: IncomingMessage, response: ServerResponse) => this.#asked(request, response));
  }

  /** Ends open connections: the HTTP server does not know its connections behind TLS. */
  close(): void {
    this.#sweepTimer?.cancel();
    for (const connection of [...this.#connections.values()]) this.#drop(connection);
  }

  /** How many there are in each state, as of the last look. */
  counts(): Record<ConnectionState, number> {
    const counts = { reading: 0, answering: 0, idle: 0, upgrading: 0, upgraded: 0, closing: 0 };
    for (const { state } of this.#connections.values()) counts[state]++;
    return counts;
  }

  /**
   * Its client has shown the password or a key: the connection is no longer ended to make space for others. When the
   * account has its share, its oldest idle connection is ended, or else this one.
   */
  shownPassword(socket: Socket, account: string): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.account === account) return;
    this.#leaveCounts(connection);
    const own = this.#knownOf.get(account) ?? new Set();
    const knownCount = this.#connections.size - this.#unknown.size;
    if (own.size >= ACCOUNT_CONNECTIONS_FREE && knownCount > SHARED_CONNECTIONS_MAX) {
      const idle = [...own].find(isIdle);
      if (idle === undefined) {
        this.#drop(connection);
        return;
      }
      this.#drop(idle);
    }
    connection.account = account;
    this.#knownOf.set(account, own.add(connection));
  }

  /**
   * Calls `run` once every completely received request is answered, if the connection is still open then: anything
   * written before would precede their answers, or corrupt them.
   */
  whenAnswered(socket: Socket, run: () => void): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || !isAnswering(connection)) run();
    else connection.onAnswered = run;
  }

  /** The connection leaves HTTP: `run` takes it over, when all previous requests are answered. */
  upgrade(socket: Socket, run: () => void): void {
    this.whenAnswered(socket, () => {
      const connection = this.#connections.get(socket);
      if (connection !== undefined) this.#enter(connection, "upgrading");
      run();
    });
  }

  /** 101 is sent: its client has shown the password, a key (see `shownPassword`), or the dashboard's cookie. */
  upgraded(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#unknown.delete(connection);
    removeFrom(this.#unknownOf, connection.network, connection);
    this.#enter(connection, "upgraded");
  }

  #opened(socket: Socket): void {
    const known = this.#connections.get(socket);
    if (known !== undefined) {
      // A refused upgrade: the connection starts again (upgrade-requests.ts).
      this.#enter(known, "reading");
      return;
    }
    const network = networkOf(socket.remoteAddress ?? "");
    if (!this.#makeSpace(network)) {
      socket.destroy();
      return;
    }
    const connection: Connection = {
      socket,
      network,
      account: undefined,
      state: "reading",
      sinceMs: this.#clock.now(),
      unanswered: new Set(),
      lastRequest: undefined,
      idleAtBytes: 0,
      onAnswered: undefined,
    };
    this.#connections.set(socket, connection);
    this.#unknown.add(connection);
    this.#unknownOf.set(network, (this.#unknownOf.get(network) ?? new Set()).add(connection));
    socket.on("close", () => this.#drop(connection));
    this.#sweepTimer ??= this.#clock.after(SWEEP_INTERVAL_MS, () => this.#sweep());
  }

  #asked(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined) return;
    connection.unanswered.add(request);
    connection.lastRequest = request;
    response.on("close", () => this.#answered(connection, request));
    this.#enter(connection, stateOf(connection));
  }

  #answered(connection: Connection, request: IncomingMessage): void {
    connection.unanswered.delete(request);
    // Each answer has its own time.
    connection.sinceMs = this.#clock.now();
    if (isAnswering(connection)) return;
    connection.idleAtBytes = connection.socket.bytesRead;
    this.#enter(connection, stateOf(connection));
    const { onAnswered } = connection;
    connection.onAnswered = undefined;
    if (connection.socket.writable) onAnswered?.();
  }

  #enter(connection: Connection, state: ConnectionState): void {
    if (connection.state === state) return;
    connection.state = state;
    connection.sinceMs = this.#clock.now();
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const connection of this.#connections.values()) {
      this.#enter(connection, stateOf(connection));
      if (now - connection.sinceMs >= TIME_MAX_MS[connection.state]) this.#end(connection);
    }
    this.#sweepTimer =
      this.#connections.size === 0 ? undefined : this.#clock.after(SWEEP_INTERVAL_MS, () => this.#sweep());
  }

  /** Its time limit is reached. Where an answer can still be understood it is sent, and there is time to receive it. */
  #end(connection: Connection): void {
    const { socket, state, unanswered, lastRequest } = connection;
    const isAnsweredEarly = lastRequest?.complete === false && !unanswered.has(lastRequest);
    if (state === "idle") socket.end();
    else if (state === "reading" && !isAnsweredEarly && !isAnswering(connection)) socket.end(this.#timeoutAnswer);
    else this.#drop(connection);
  }

  /** Ends the oldest connection that may be ended for another; false when there is none. */
  #makeSpace(network: string): boolean {
    const ofNetwork = this.#unknownOf.get(network);
    if (ofNetwork !== undefined && ofNetwork.size >= UNKNOWN_PER_NETWORK_MAX) this.#drop(first(ofNetwork));
    if (this.#unknown.size >= UNKNOWN_MAX) this.#drop(first(largest(this.#unknownOf)));
    if (this.#connections.size < CONNECTIONS_MAX) return true;
    return this.#drop(first(largest(this.#unknownOf)) ?? [...this.#byMost()].find(isIdle));
  }

  /** Known connections, those of the account with most first. */
  *#byMost(): Iterable<Connection> {
    const bySize = [...this.#knownOf.values()].sort((one, other) => other.size - one.size);
    for (const own of bySize) yield* own;
  }

  /** It has another account, or is closed. */
  #leaveCounts(connection: Connection): void {
    this.#unknown.delete(connection);
    removeFrom(this.#unknownOf, connection.network, connection);
    if (connection.account !== undefined) removeFrom(this.#knownOf, connection.account, connection);
    connection.account = undefined;
  }

  /** At once for the count; the socket says later that it is closed. */
  #drop(connection: Connection | undefined): boolean {
    if (connection === undefined) return false;
    this.#connections.delete(connection.socket);
    this.#leaveCounts(connection);
    connection.socket.destroy();
    return true;
  }
}

function first<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}

function removeFrom(sets: Map<string, Set<Connection>>, key: string, connection: Connection): void {
  const set = sets.get(key);
  set?.delete(connection);
  if (set?.size === 0) sets.delete(key);
}

/** The first of those with most members; empty when there is none. */
function largest(sets: ReadonlyMap<string, ReadonlySet<Connection>>): ReadonlySet<Connection> {
  let found: ReadonlySet<Connection> = new Set();
  for (const set of sets.values()) if (set.size > found.size) found = set;
  return found;
}

function isIdle(connection: Connection): boolean {
  return stateOf(connection) === "idle";
}

function isAnswering({ unanswered }: Connection): boolean {
  return [...unanswered].some(({ complete }) => complete);
}

/** As seen from the connection itself. */
function stateOf({ socket, state, unanswered, lastRequest, idleAtBytes }: Connection): ConnectionState {
  if (socket.writableEnded || socket.destroyed) return "closing";
  if (state === "upgrading" || state === "upgraded") return state;
  // Also of a request that was answered before all of it was there.
  if (lastRequest === undefined || !lastRequest.complete) return "reading";
  if (unanswered.size > 0) return "answering";
  return socket.bytesRead > idleAtBytes ? "reading" : "idle";
}
