// The WebSocket end point of every version: from a client's upgrade request to its session (protocol-v4.md sections 4.1
// and 4.2). Main thread.

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { CLOSE_POLICY } from "../../lib/close-codes.ts";
import { isInt64 } from "../../lib/int64.ts";
import { parseUrl } from "../../lib/parse-url.ts";
import { pause } from "../../lib/pause.ts";
import { TaskSlicer } from "../../lib/task-slicer.ts";
import type { LogFields, Logger } from "../../log/log.ts";
import { accountFor } from "../access/account.ts";
import { type Identity, mayUse } from "../access/identity.ts";
import { Tally } from "../access/tally.ts";
import { retryAfterOf } from "../api/api-error.ts";
import type { Asker, RestAnswer } from "../api/route.ts";
import type { SocketProtocol } from "../api/socket-protocol.ts";
import type { UpgradeRequest, UpgradeTarget } from "../api/upgrade.ts";
import { ONE_HOME, type SessionHomes } from "../cluster/session-homes.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { rateLimitText } from "./admission.ts";
import type { Recognition } from "./authentication.ts";
import { clientOrigin } from "./client-origin.ts";
import { HeldSocket } from "./held-socket.ts";
import { apiVersionLine, bareAnswer } from "./rest-server.ts";
import { watchLiveness } from "./socket-liveness.ts";
import { countUnfinished } from "./unfinished-messages.ts";

/** A client that says more at once is closed (1009). */
const INCOMING_SIZE_MAX_BYTES = 1024 * 1024;
/**
 * A client is listened to again after as many times the time that its last message took: whatever it says, it has a
 * fifth of the thread at most. Short messages do not count.
 */
const REST_PER_WORK = 4;
const SHORT_WORK_MS = 1;
/** Pings are not answered while this much waits for the client: one that does not read must not fill the memory. */
const PONG_BACKLOG_MAX_BYTES = 64 * 1024;
/** How long an open socket may take to answer a ping before a client that returns may take its session over. */
const TAKE_OVER_PING_TIMEOUT_MS = 1500;
/** How long a client may take to answer the close frame when the node ends. */
const CLOSE_GRACE_MS = 1000;
/**
 * Pings follow the first messages: moonlink.js does not read what arrives together with the answer to its handshake
 * until more arrives, and may have been busy while the messages were held back.
 */
const FIRST_PINGS_MS = [50, 500, 5000];
/** Sent to a client whose key has its maximum of sessions. */
const SESSION_RETRY_S = 10;
/** A connection that is silent this long is probed, so that one that broke unnoticed is found within a minute. */
const KEEP_ALIVE_MS = 30_000;

interface WebSocketEndpointOptions {
  readonly sessions: Sessions;
  /** Default: the node shares its sessions with no other. */
  readonly homes?: SessionHomes | undefined;
  /** Default true. False: clients are to connect to other machines of the cluster. */
  readonly isGateway?: boolean | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recognize: (asker: Asker) => Recognition | Promise<Recognition>;
  /** Whether what a client has shown is still good. */
  readonly isCurrent: (identity: Identity) => boolean;
  readonly protocols: readonly SocketProtocol[];
}

/** A handshake that is answered with a status instead of 101. */
interface Refusal {
  readonly status:
    | "400 Bad Request"
    | "401 Unauthorized"
    | "403 Forbidden"
    | "429 Too Many Requests"
    | "503 Service Unavailable";
  readonly isResumeAnswered?: boolean;
  readonly retryAfterS?: number;
  /** The reason, where it says more than the status. */
  readonly text?: string;
}

export class WebSocketEndpoint implements UpgradeTarget {
  readonly #options: WebSocketEndpointOptions;
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: INCOMING_SIZE_MAX_BYTES,
    clientTracking: false,
    // Messages that arrive together are read one by one, others between them.
    allowSynchronousEvents: false,
    autoPong: false,
  });
  /** Hundreds of clients that reconnect together are admitted one by one, so that other work runs in between. */
  readonly #slicer: TaskSlicer;
  /** Every open socket with its session, for asking whether it still answers and for the end. */
  readonly #sockets = new Map<WebSocket, OpenSocket>();
  /** Those whose first messages are held back. */
  readonly #holding = new Set<OpenSocket>();
  readonly #memoryRefusals: Tally;

  constructor(options: WebSocketEndpointOptions) {
    this.#options = options;
    this.#slicer = new TaskSlicer(options.clock);
    this.#memoryRefusals = new Tally(options, "client refused: its account has used up its memory for sessions");
    // Wrong version or key: ws leaves the answer to us if there is a listener.
    this.#server.on("wsClientError", (_error, socket, request) => {
      refuse(socket, { status: "400 Bad Request" }, this.#protocolOf(request).version);
    });
  }

  isFor(path: string): boolean {
    return this.#options.protocols.some(({ paths }) => paths.includes(path));
  }

  upgrade({ request, socket, head }: UpgradeRequest, onUpgraded: () => void): void {
    const protocol = this.#protocolOf(request);
    const onError = (): void => {
      socket.destroy();
    };
    socket.on("error", onError);
    const recognition = this.#options.recognize(request);
    const proceed = (known: Recognition): void => {
      const identity = this.#check(request, known);
      if ("status" in identity) refuse(socket, identity, protocol.version);
      else this.#admit({ request, socket, head, onUpgraded, protocol, identity }, onError);
    };
    if (!(recognition instanceof Promise)) {
      proceed(recognition);
      return;
    }
    const stopWatching = watchLeaving(socket);
    void recognition.then((known) => {
      stopWatching();
      proceed(known);
    });
  }

  /** `onError` is the listener that its socket has until it is open. */
  #admit(handshake: Omit<Handshake, "session" | "newId">, onError: () => void): void {
    const { request, socket, protocol, identity } = handshake;
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#slicer
      .next(accountFor(identity, request.socket.remoteAddress))
      .then(() => this.#findResumable(protocol, request, identity))
      .then(async (session) => ({ session, newId: session?.isWaiting ? undefined : await this.#homes.reserve() }))
      .then(({ session, newId }) => {
        if (this.#options.sessions.isClosed) {
          // Some libraries take any answer for final, and try again only without one.
          socket.destroy();
          return;
        }
        const refusal = this.#complete({ ...handshake, session, newId });
        // A refused and closed socket keeps its listener: an error event without one ends the process.
        if (refusal === undefined) socket.off("error", onError);
        else refuse(socket, refusal, protocol.version);
      })
      .catch((error: unknown) => {
        if (error instanceof NodeError && error.code === "cluster-away") {
          // One that returns tries again without an answer, and may take any for final.
          if (protocol.askedSession(request.headers) !== undefined) socket.destroy();
          else refuse(socket, clusterAway(error), protocol.version);
          return;
        }
        this.#options.logger.error("WebSocket handshake failed", { error });
        socket.destroy();
      });
  }

  get #homes(): SessionHomes {
    return this.#options.homes ?? ONE_HOME;
  }

  /** Ends open sockets after a short time for their close handshake. Close the sessions first. */
  async close(): Promise<void> {
    const graceEnds = pause(this.#options.clock, CLOSE_GRACE_MS);
    const closed = Array.from(
      this.#sockets.keys(),
      (socket) => new Promise((resolve) => socket.once("close", resolve)),
    );
    await Promise.race([graceEnds, Promise.all(closed)]);
    for (const socket of this.#sockets.keys()) socket.terminate();
  }

  /** The keys have changed: sockets with a key that is no longer valid are closed, and may reconnect with another. */
  dropStale(): void {
    for (const [socket, { identity }] of this.#sockets) {
      if (!this.#options.isCurrent(identity))
        socket.close(CLOSE_POLICY, "the key of this connection is no longer valid");
    }
  }

  /**
   * Resolves when the client has been sent `ready`, if it is connecting right now: lavalink-client sends requests
   * immediately, with or without its session, and relies on `ready` before the answer. Undefined: nothing to wait for.
   */
  untilReady(address: string | undefined, sessionId: string | undefined): Promise<unknown> | undefined {
    if (this.#holding.size === 0) return undefined;
    const own = [...this.#holding].filter((open) => open.session.id === sessionId || open.address === address);
    return own.length === 0 ? undefined : Promise.all(own.map(({ held }) => held.released));
  }

  /** The answer to a request to the path of v4 that does not ask for an upgrade. */
  async answerPlainRequest(method: string, asker: Asker): Promise<RestAnswer> {
    const { kind } = await this.#options.recognize(asker);
    if (kind === "refused") return { kind: "empty", status: 429, headers: { Connection: "close" } };
    if (kind !== "known") return { kind: "empty", status: kind === "rateLimited" ? 429 : 401 };
    if (readUserId(asker.headers["user-id"]) === undefined) return { kind: "empty", status: 400 };
    if (method !== "GET") return { kind: "empty", status: 405 };
    const text = 'Can "Upgrade" only to "WebSocket".';
    return { kind: "text", status: 400, text, contentType: "text/plain;charset=UTF-8" };
  }

  /** The protocol version of a request that is for one of them. */
  #protocolOf({ url }: IncomingMessage): SocketProtocol {
    const path = (url ?? "").split(/[?#]/, 1)[0] ?? "";
    const protocol = this.#options.protocols.find(({ paths }) => paths.includes(path));
    if (protocol === undefined) throw new Error(`there is no WebSocket at ${path}`);
    return protocol;
  }

  #check({ headers }: IncomingMessage, recognition: Recognition): Identity | Refusal {
    if (recognition.kind === "refused") return { status: "429 Too Many Requests" };
    if (recognition.kind === "rateLimited") {
      const retryAfterS = Math.ceil(recognition.waitMs / 1000);
      return { status: "429 Too Many Requests", retryAfterS, text: rateLimitText(recognition) };
    }
    if (recognition.kind !== "known") return { status: "401 Unauthorized" };
    const { identity } = recognition;
    if (!mayUse(identity.role, "client")) {
      return {
        status: "403 Forbidden",
        text: `the key ${identity.name} has the role ${identity.role}: it may not play`,
      };
    }
    if (readUserId(headers["user-id"]) === undefined) return { status: "400 Bad Request" };
    if (isForeignOrigin(headers)) return { status: "403 Forbidden", isResumeAnswered: true };
    return this.#options.isGateway === false ? NO_GATEWAY : identity;
  }

  /**
   * The session that the client asks to resume, if it belongs to it and waits: no user and no key gets the players of
   * another. A session whose socket is still open gets a ping first: a client that lost its connection often returns
   * before we notice.
   */
  async #findResumable(
    protocol: SocketProtocol,
    { headers }: IncomingMessage,
    { name: owner }: Identity,
  ): Promise<Session | undefined> {
    const userId = readUserId(headers["user-id"]) ?? "";
    const find = () => protocol.findSession(this.#options.sessions, headers, { userId, owner });
    const asked = protocol.askedSession(headers);
    // One that drains would give it away again.
    if (asked !== undefined && find() === undefined && !this.#options.sessions.isDraining)
      await this.#homes.bring(asked, { userId, owner, version: protocol.version });
    const session = find();
    if (session?.userId !== userId || session.owner !== owner) return undefined;
    await this.endSilent(session);
    return session;
  }

  /** Ends the connection of a session whose client does not answer a ping: it has gone, and nobody has noticed. */
  async endSilent(session: Session): Promise<void> {
    if (!session.isConnected) return;
    const socket = this.#socketOf(session);
    if (socket === undefined || (await this.#isAnswering(socket.webSocket))) return;
    // The session may have got another socket in the meantime, which must not be ended.
    session.socketClosed(socket.held);
    socket.held.terminate();
  }

  #socketOf(session: Session): { readonly webSocket: WebSocket; readonly held: HeldSocket } | undefined {
    for (const [webSocket, client] of this.#sockets) if (client.session === session) return { webSocket, ...client };
    return undefined;
  }

  #isAnswering(socket: WebSocket): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isAnswering: boolean): void => {
        timer.cancel();
        socket.off("pong", onPong);
        socket.off("close", onClose);
        resolve(isAnswering);
      };
      const onPong = (): void => settle(true);
      const onClose = (): void => settle(false);
      const timer = this.#options.clock.after(TAKE_OVER_PING_TIMEOUT_MS, () => settle(false));
      socket.on("pong", onPong);
      socket.on("close", onClose);
      socket.ping();
    });
  }

  /** Gives the id back if the handshake has come to nothing. */
  #complete(handshake: Handshake): Refusal | undefined {
    const { newId } = handshake;
    try {
      return this.#upgrade(handshake);
    } finally {
      if (newId !== undefined && this.#options.sessions.get(newId) === undefined) this.#homes.cancel(newId);
    }
  }

  /** No await between the check of the session and attaching the socket, so that no other request can interfere. */
  #upgrade(handshake: Handshake): Refusal | undefined {
    const { request, socket, head, onUpgraded, protocol, identity, session, newId } = handshake;
    // The keys may have changed while its old socket was pinged; a new socket is not among those closed then.
    if (!this.#options.isCurrent(identity)) return { status: "401 Unauthorized" };
    const resumable = session?.isWaiting ? session : undefined;
    const refusal = resumable === undefined ? this.#refusalOf(identity, request.socket.remoteAddress) : undefined;
    if (refusal !== undefined) return refusal;
    const addHeader = (headers: string[]): void => {
      headers.push(apiVersionLine(protocol.version), `Session-Resumed: ${resumable !== undefined}`);
    };
    this.#server.once("headers", addHeader);
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      onUpgraded();
      watchLiveness(webSocket, this.#options.clock);
      const { remoteAddress: address } = request.socket;
      const held = new HeldSocket(webSocket, request.socket, this.#options.clock, clientOrigin(request));
      const opening = { protocol, identity, headers: request.headers, address, newId };
      const session = resumable ?? this.#open(held, opening);
      this.#adopt(webSocket, protocol, { held, identity, session, address, isResumed: resumable !== undefined });
      countUnfinished(webSocket, request.socket, {
        memory: session.buffered,
        onExceeded: () => {
          this.#log("client disconnected: no memory for the message that it sends", session, {});
          webSocket.terminate();
        },
      });
      resumable?.resume(held);
      for (const delayMs of FIRST_PINGS_MS) this.#options.clock.after(delayMs, () => webSocket.ping());
    });
    // Still set when the handshake failed half way; the session, if any, continues to wait unchanged.
    this.#server.off("headers", addHeader);
    return undefined;
  }

  /** Why the client cannot have one more session. */
  #refusalOf(identity: Identity, address: string | undefined): Refusal | undefined {
    const account = accountFor(identity, address);
    switch (this.#options.sessions.makeSpaceFor({ owner: identity.name, account })) {
      case "available":
        return undefined;
      case "draining":
        return DRAINING;
      case "memory":
        this.#memoryRefusals.count({ account });
        return outOfMemory(account);
      case "limit":
        return tooManySessions(identity);
    }
  }

  #adopt(webSocket: WebSocket, protocol: SocketProtocol, { isResumed, ...open }: Adoption): void {
    const { session, held } = open;
    webSocket.on("error", (error) => this.#options.logger.debug("client WebSocket failed", { error }));
    webSocket.on("message", (data: RawData, isBinary: boolean) => {
      if (isBinary) held.close(1003, "Binary messages not supported");
      else held.receive(() => this.#receive(webSocket, () => protocol.onText(session, String(data))));
    });
    webSocket.on("ping", (data) => {
      if (webSocket.bufferedAmount <= PONG_BACKLOG_MAX_BYTES) webSocket.pong(data);
    });
    this.#sockets.set(webSocket, open);
    this.#holding.add(open);
    void held.released.then(() => this.#holding.delete(open));
    webSocket.on("close", (code) => {
      this.#sockets.delete(webSocket);
      held.drop();
      session.socketClosed(held);
      this.#log("client disconnected", session, { code });
    });
    this.#log("client connected", session, { isResumed });
  }

  #receive(webSocket: WebSocket, work: () => void): void {
    const { clock } = this.#options;
    const startMs = clock.now();
    work();
    const workMs = clock.now() - startMs;
    if (workMs < SHORT_WORK_MS) return;
    webSocket.pause();
    clock.after(workMs * REST_PER_WORK, () => webSocket.resume());
  }

  #log(message: string, { id, userId, clientName, owner }: Session, fields: LogFields): void {
    const key = owner === undefined ? {} : { key: owner };
    this.#options.logger.info(message, { sessionId: id, userId, clientName, ...key, ...fields });
  }

  #open(socket: HeldSocket, { protocol, identity, headers, address, newId }: Opening): Session {
    const clientName = headers["client-name"];
    const client = {
      userId: readUserId(headers["user-id"]) ?? "",
      clientName: typeof clientName === "string" && clientName !== "" ? clientName : undefined,
      dialect: protocol,
      owner: identity.name,
      account: accountFor(identity, address),
    };
    return this.#options.sessions.open(socket, client, newId);
  }
}

interface Handshake extends UpgradeRequest {
  readonly onUpgraded: () => void;
  readonly protocol: SocketProtocol;
  readonly identity: Identity;
  readonly session: Session | undefined;
  /** Of the session that is opened if none is resumed; undefined: any. */
  readonly newId: string | undefined;
}

interface Opening {
  readonly protocol: SocketProtocol;
  readonly identity: Identity;
  readonly headers: IncomingMessage["headers"];
  readonly address: string | undefined;
  readonly newId: string | undefined;
}

/** A client's socket. */
interface OpenSocket {
  readonly held: HeldSocket;
  readonly identity: Identity;
  readonly session: Session;
  /** The client's, where it is known. */
  readonly address: string | undefined;
}

interface Adoption extends OpenSocket {
  readonly isResumed: boolean;
}

/**
 * Destroys a socket whose client leaves before it has its answer: only reading shows that. The returned function stops
 * it.
 */
function watchLeaving(socket: UpgradeRequest["socket"]): () => void {
  const leave = (): void => void socket.destroy();
  const stop = (): void => {
    socket.off("data", onData).off("end", leave).pause();
    // As it was: the next that listens makes it flow.
    (socket as { readableFlowing: boolean | null }).readableFlowing = null;
  };
  // It should say nothing yet; what it says stays in the socket.
  const onData = (data: Buffer): void => {
    stop();
    socket.unshift(data);
  };
  socket.on("data", onData).on("end", leave);
  return stop;
}

function refuse(socket: Duplex, { status, isResumeAnswered, retryAfterS, text }: Refusal, apiVersion?: string): void {
  const headers = [
    ...(isResumeAnswered ? ["Session-Resumed: false"] : []),
    ...(retryAfterS === undefined ? [] : [`Retry-After: ${retryAfterS}`]),
  ];
  // A client that does not close its side must not keep ours.
  socket.end(bareAnswer(status, { headers, apiVersion, text }), () => socket.destroy());
}

/** A new session cannot be made known to the other machines. */
function clusterAway(error: NodeError): Refusal {
  const retryAfterS = retryAfterOf(error);
  return { status: "503 Service Unavailable", ...(retryAfterS !== undefined && { retryAfterS }), text: error.message };
}

const NO_GATEWAY: Refusal = {
  status: "503 Service Unavailable",
  text: "this machine only plays (tonearm.cluster.roles): connect to one that has the role gateway",
};

const DRAINING: Refusal = {
  status: "503 Service Unavailable",
  retryAfterS: SESSION_RETRY_S,
  text: "the node is draining: it accepts no new sessions; use another node",
};

function outOfMemory(account: string): Refusal {
  const text = `the ${account} has used up its memory for sessions and players: end some of them, or use another node`;
  return { status: "503 Service Unavailable", retryAfterS: SESSION_RETRY_S, text };
}

function tooManySessions({ name, limits }: Identity): Refusal {
  const text = `the key ${name} has reached its limit of ${limits.sessions} sessions, and none of them waits for its client`;
  return { status: "429 Too Many Requests", retryAfterS: SESSION_RETRY_S, text };
}

/** A signed 64-bit integer other than 0, in plain digits. */
function readUserId(header: string | string[] | undefined): string | undefined {
  if (typeof header !== "string" || !/^[+-]?\d{1,19}$/.test(header)) return undefined;
  const userId = BigInt(header.replace("+", ""));
  return userId === 0n || !isInt64(userId) ? undefined : userId.toString();
}

/** Browsers name the site of a script; scripts of other sites are refused. */
function isForeignOrigin({ origin, host }: IncomingMessage["headers"]): boolean {
  if (origin === undefined) return false;
  const url = parseUrl(origin);
  return url === undefined || url.host !== host;
}
