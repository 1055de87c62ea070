// A minimal bot: speaks the v4 protocol to any node over REST and WebSocket, stores every message, and waits for the
// ones it needs. For demo, benchmarks, conformance checks and tests of the protocol itself.

import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { Waiters } from "../discord/waiters.ts";
import { type NodeAccess, type RestAnswer, requestNode } from "./rest-request.ts";

export interface BotOptions extends NodeAccess {
  /** The clock for its waits. Default: the system's. */
  readonly clock?: Clock;
  /** Default "100000000000000001". */
  readonly userId?: string;
  /** Session to resume. */
  readonly sessionId?: string;
  /** How long to wait for `ready`; then the connection is cut. Default 30 s. */
  readonly connectTimeoutMs?: number;
  /** Path other than `/v4/websocket`. */
  readonly path?: string;
}

/** One WebSocket message of the node. */
export interface NodeMessage {
  readonly op: string;
  readonly type?: string;
  readonly guildId?: string;
  readonly [field: string]: unknown;
}

/** A player as REST returns it, as far as this bot uses it. */
export interface PlayerView {
  readonly guildId: string;
  readonly track: { readonly encoded: string; readonly info: Readonly<Record<string, unknown>> } | null;
  readonly volume: number;
  readonly paused: boolean;
  readonly state: {
    readonly time: number;
    readonly position: number;
    readonly connected: boolean;
    readonly ping: number;
  };
}

interface CloseEvent {
  readonly code: number;
  readonly reason: string;
}

/** The node answered the handshake with another status than 101. */
export class HandshakeRefused extends Error {
  readonly status: number;
  /** Seconds, from `Retry-After`; undefined without one. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ statusCode = 0, headers }: IncomingMessage) {
    super(`the node refused the handshake with status ${statusCode}`);
    const { "retry-after": retryAfter } = headers;
    this.status = statusCode;
    this.retryAfterSeconds = retryAfter === undefined ? undefined : Number(retryAfter);
  }
}

const UNTIL_TIMEOUT_MS = 30_000;

export class Bot {
  /** Every message so far, oldest first. */
  readonly messages: NodeMessage[] = [];
  readonly #options: BotOptions;
  readonly #socket: WebSocket;
  readonly #waiters: Waiters;
  #handshakeHeaders: IncomingHttpHeaders = {};
  #closeEvent: CloseEvent | undefined;
  #refusal: HandshakeRefused | undefined;
  #pongCount = 0;
  #sessionId = "";

  private constructor(options: BotOptions, socket: WebSocket) {
    this.#options = options;
    this.#socket = socket;
    this.#waiters = new Waiters(options.clock ?? systemClock);
    socket.on("error", () => undefined); // reported by the `close` that follows
    socket.on("unexpected-response", (_request, response) => {
      this.#refusal = new HandshakeRefused(response);
      socket.terminate();
    });
    socket.on("upgrade", ({ headers }) => {
      this.#handshakeHeaders = headers;
    });
    socket.on("close", (code, reason) => {
      this.#closeEvent = { code, reason: reason.toString() };
      this.#waiters.changed();
    });
    socket.on("pong", () => {
      this.#pongCount++;
      this.#waiters.changed();
    });
    socket.on("message", (data) => {
      const message = readMessage(String(data));
      if (message === undefined) {
        // A node that sends invalid messages counts as disconnected; `closed()` reports it.
        socket.close(1007, "a message that is no JSON object");
        return;
      }
      if (message.op === "ready") this.#sessionId = String(message.sessionId);
      this.messages.push(message);
      this.#waiters.changed();
    });
  }

  /** Connects and waits for `ready`. Rejects when the connection ends before; with `HandshakeRefused` if it was refused. */
  static async connect(options: BotOptions): Promise<Bot> {
    const socket = new WebSocket(`${options.url.replace("http", "ws")}${options.path ?? "/v4/websocket"}`, {
      headers: {
        Authorization: options.password,
        "User-Id": options.userId ?? "100000000000000001",
        "Client-Name": "tonearm-lab/1",
        ...(options.sessionId === undefined ? {} : { "Session-Id": options.sessionId }),
      },
      ...(options.connect !== undefined && { createConnection: options.connect as () => never }), // any stream does
    });
    const bot = new Bot(options, socket);
    const isReady = (): boolean => bot.messages.some(({ op }) => op === "ready");
    const timeoutMs = options.connectTimeoutMs ?? UNTIL_TIMEOUT_MS;
    try {
      await bot.#waiters.until(() => isReady() || bot.#closeEvent !== undefined, "ready", timeoutMs);
    } catch (error) {
      bot.terminate();
      throw error;
    }
    if (isReady()) return bot;
    throw bot.#refusal ?? new Error(`the connection ended before ready with code ${bot.#closeEvent?.code}`);
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  get userId(): string {
    return this.#options.userId ?? "100000000000000001";
  }

  /** Headers of the answer to the handshake. */
  get handshakeHeaders(): IncomingHttpHeaders {
    return this.#handshakeHeaders;
  }

  /** Resolves when the connection has ended, with its close code. */
  async closed(timeoutMs = UNTIL_TIMEOUT_MS): Promise<CloseEvent> {
    await this.#waiters.until(() => this.#closeEvent !== undefined, "the end of the connection", timeoutMs);
    return this.#closeEvent!; // set by the wait above
  }

  /** Sends any frame to the node, which ignores it. */
  send(data: string | Uint8Array): void {
    this.#socket.send(data);
  }

  /** Resolves when the node has answered a ping, and with that has sent all earlier messages. */
  async ping(): Promise<void> {
    const count = this.#pongCount + 1;
    this.#socket.ping();
    await this.#waiters.until(() => this.#pongCount >= count, "a pong", UNTIL_TIMEOUT_MS);
  }

  /** Events of one guild and type, oldest first. */
  events(type: string, guildId?: string): NodeMessage[] {
    return this.messages.filter(
      (message) => message.type === type && (guildId === undefined || message.guildId === guildId),
    );
  }

  /** The first message, received already or later, that fits; rejects naming `what`. */
  async until(
    fits: (message: NodeMessage) => boolean,
    what: string,
    timeoutMs = UNTIL_TIMEOUT_MS,
  ): Promise<NodeMessage> {
    await this.#waiters.until(() => this.messages.some(fits), what, timeoutMs);
    return this.messages.find(fits)!; // set by the wait above
  }

  /** The first event of this type. */
  untilEvent(type: string, timeoutMs?: number): Promise<NodeMessage> {
    return this.until((message) => message.type === type, type, timeoutMs);
  }

  /** Any request; the body is parsed when there is one. */
  request<T>(method: string, path: string, body?: unknown): Promise<RestAnswer<T>> {
    return requestNode(this.#options, { method, path, body });
  }

  load(identifier: string): Promise<RestAnswer<LoadView>> {
    return this.request("GET", `/v4/loadtracks?identifier=${encodeURIComponent(identifier)}`);
  }

  /** Loads one track and returns its encoded form; throws with the node's message when the result is not a track. */
  async loadEncoded(identifier: string): Promise<string> {
    const { body } = await this.load(identifier);
    if (body.loadType !== "track") throw new Error(`${identifier}: ${JSON.stringify(body)}`);
    return (body.data as { encoded: string }).encoded;
  }

  /** PATCH player; throws with the node's message unless it answers 200. */
  async update(guildId: string, body: object, query = ""): Promise<PlayerView> {
    const answer = await this.request<PlayerView>("PATCH", `${this.#playerPath(guildId)}${query}`, body);
    if (answer.status !== 200) throw new Error(`PATCH player: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async player(guildId: string): Promise<PlayerView> {
    return (await this.request<PlayerView>("GET", this.#playerPath(guildId))).body;
  }

  async destroy(guildId: string): Promise<void> {
    await this.request("DELETE", this.#playerPath(guildId));
  }

  /** Closes the socket as a client that disconnects. */
  close(): void {
    this.#waiters.close();
    this.#socket.close();
  }

  /** Cuts the connection without a close frame. */
  terminate(): void {
    this.#socket.terminate();
  }

  #playerPath(guildId: string): string {
    return `/v4/sessions/${this.#sessionId}/players/${guildId}`;
  }
}

export interface LoadView {
  readonly loadType: "track" | "playlist" | "search" | "empty" | "error";
  readonly data: unknown;
}

function readMessage(text: string): NodeMessage | undefined {
  try {
    const message: unknown = JSON.parse(text);
    // The caller that waits for one checks its members.
    return typeof message === "object" && message !== null ? (message as NodeMessage) : undefined;
  } catch {
    return undefined;
  }
}
