// The WebSocket end point /v4/websocket: from a client's upgrade request to its session (protocol-v4.md sections 4.1 and
// 4.2). Main thread.

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Authorization } from "./authentication.ts";
import { API_VERSION, API_VERSION_HEADER, type RestAnswer } from "./rest-server.ts";

export const WEB_SOCKET_PATH = "/v4/websocket";

/** Clients have nothing to say; what they say is read and forgotten up to this size, beyond it they are closed (1009). */
const INCOMING_SIZE_MAX_BYTES = 1024 * 1024;
/** How long an open socket may take to answer a ping before a client that returns may take its session over. */
const TAKE_OVER_PING_TIMEOUT_MS = 1500;
const USER_ID_MIN = -(2n ** 63n);
const USER_ID_MAX = 2n ** 63n - 1n;

export interface WebSocketEndpointOptions {
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly checkPassword: (header: string | undefined) => Authorization;
}

/** A handshake that is answered with a status instead of 101. */
interface Refusal {
  readonly status: "400 Bad Request" | "401 Unauthorized" | "403 Forbidden";
  readonly isResumeAnswered?: boolean;
}

export class WebSocketEndpoint {
  readonly #options: WebSocketEndpointOptions;
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: INCOMING_SIZE_MAX_BYTES,
    clientTracking: false,
  });
  /** The open socket of each session, for asking whether it still answers. */
  readonly #sockets = new WeakMap<Session, WebSocket>();

  constructor(options: WebSocketEndpointOptions) {
    this.#options = options;
    this.#server.on("headers", (headers) => headers.push(`${API_VERSION_HEADER}: ${API_VERSION}`));
    // Wrong version or key: ws leaves the answer to us when somebody listens.
    this.#server.on("wsClientError", (_error, socket) => refuse(socket, { status: "400 Bad Request" }));
  }

  /** Answers one upgrade request for our path. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const onError = (): void => {
      socket.destroy();
    };
    socket.on("error", onError);
    const refusal = this.#check(request);
    if (refusal !== undefined) {
      refuse(socket, refusal);
      return;
    }
    this.#findResumable(request)
      .then((session) => {
        socket.off("error", onError);
        this.#complete({ request, socket, head, session });
      })
      .catch((error: unknown) => {
        this.#options.logger.error("a WebSocket handshake failed", { error });
        socket.destroy();
      });
  }

  /** What a request to our path that asks for no upgrade is told. */
  answerPlainRequest(method: string, headers: IncomingMessage["headers"]): RestAnswer {
    if (this.#options.checkPassword(headers.authorization) !== "granted") return { kind: "empty", status: 401 };
    if (readUserId(headers["user-id"]) === undefined) return { kind: "empty", status: 400 };
    if (method !== "GET") return { kind: "empty", status: 405 };
    const text = 'Can "Upgrade" only to "WebSocket".';
    return { kind: "text", status: 400, text, contentType: "text/plain;charset=UTF-8" };
  }

  #check({ headers }: IncomingMessage): Refusal | undefined {
    if (this.#options.checkPassword(headers.authorization) !== "granted") return { status: "401 Unauthorized" };
    if (readUserId(headers["user-id"]) === undefined) return { status: "400 Bad Request" };
    if (isForeignOrigin(headers)) return { status: "403 Forbidden", isResumeAnswered: true };
    return undefined;
  }

  /**
   * The session that the client asks for, if it is waiting. One whose socket is still open, of the same user, is asked
   * for a sign of life first: a client that lost its connection often returns before we notice.
   */
  async #findResumable({ headers }: IncomingMessage): Promise<Session | undefined> {
    const id = headers["session-id"];
    const session = typeof id === "string" ? this.#options.sessions.get(id) : undefined;
    if (session?.isConnected && session.userId === readUserId(headers["user-id"])) {
      const socket = this.#sockets.get(session);
      if (socket !== undefined && !(await this.#isAnswering(socket))) session.dropSocket();
    }
    return session;
  }

  #isAnswering(socket: WebSocket): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isAnswering: boolean): void => {
        timer.cancel();
        socket.off("pong", onPong);
        resolve(isAnswering);
      };
      const onPong = (): void => settle(true);
      const timer = this.#options.clock.after(TAKE_OVER_PING_TIMEOUT_MS, () => settle(false));
      socket.on("pong", onPong);
      socket.ping();
    });
  }

  /** Without a pause from the look at the session to the socket being its own, so that nobody can come between. */
  #complete({ request, socket, head, session }: Handshake): void {
    const resumable = session?.isWaiting ? session : undefined;
    const addHeader = (headers: string[]): void => {
      headers.push(`Session-Resumed: ${resumable !== undefined}`);
    };
    this.#server.once("headers", addHeader);
    this.#server.handleUpgrade(request, socket, head, (webSocket) => this.#adopt(webSocket, request, resumable));
    // Still there when the handshake failed half way; the session, if any, goes on waiting untouched.
    this.#server.off("headers", addHeader);
  }

  #adopt(webSocket: WebSocket, { headers }: IncomingMessage, resumable: Session | undefined): void {
    webSocket.on("error", (error) => this.#options.logger.debug("a client's WebSocket failed", { error }));
    webSocket.on("message", (_data: RawData, isBinary: boolean) => {
      if (isBinary) webSocket.close(1003, "Binary messages not supported");
    });
    const session = resumable ?? this.#open(webSocket, headers);
    webSocket.on("close", () => session.socketClosed(webSocket));
    this.#sockets.set(session, webSocket);
    resumable?.resume(webSocket);
  }

  #open(webSocket: WebSocket, headers: IncomingMessage["headers"]): Session {
    const clientName = headers["client-name"];
    return this.#options.sessions.open(webSocket, {
      userId: readUserId(headers["user-id"]) ?? "",
      clientName: typeof clientName === "string" && clientName !== "" ? clientName : undefined,
    });
  }
}

interface Handshake {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly session: Session | undefined;
}

function refuse(socket: Duplex, { status, isResumeAnswered }: Refusal): void {
  const resumed = isResumeAnswered ? "Session-Resumed: false\r\n" : "";
  socket.end(
    `HTTP/1.1 ${status}\r\n${resumed}${API_VERSION_HEADER}: ${API_VERSION}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
    // A client that does not close its side must not keep ours.
    () => socket.destroy(),
  );
}

/** A signed 64-bit integer other than 0, in plain digits. */
function readUserId(header: string | string[] | undefined): string | undefined {
  if (typeof header !== "string" || !/^[+-]?\d{1,19}$/.test(header)) return undefined;
  const userId = BigInt(header.replace("+", ""));
  return userId === 0n || userId < USER_ID_MIN || userId > USER_ID_MAX ? undefined : userId.toString();
}

/** Browsers name the site that a script came from; scripts of other sites are not served. */
function isForeignOrigin({ origin, host }: IncomingMessage["headers"]): boolean {
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host;
}
