// A bot's client in a simulation: speaks the v4 protocol to the node over connections in memory, keeps every message,
// and takes its session up again when its connection is cut.

import type { Duplex } from "node:stream";
import { WebSocket } from "ws";
import type { Clock } from "../../src/lib/clock.ts";
import { pause } from "../../src/lib/pause.ts";
import type { NodeMessage, PlayerView } from "../test-environment/bot.ts";
import { requestNode } from "../test-environment/rest-request.ts";

/** Between two tries to get back. */
const RETRY_MS = 500;
const RESUME_SECONDS = 60;
/** Where it is said to be; it is reached by `connect`. */
const NODE_URL = "http://127.0.0.1";

interface SimulatedClientOptions {
  readonly clock: Clock;
  readonly password: string;
  readonly userId: string;
  /** A new connection to the node. */
  readonly connect: () => Duplex;
  readonly onMessage: (message: NodeMessage) => void;
}

export class SimulatedClient {
  readonly #options: SimulatedClientOptions;
  #socket: WebSocket | undefined;
  #sessionId: string | undefined;
  #isLeaving = false;
  /** Resolves when there is a session. */
  #whenConnected: Promise<void> = Promise.resolve();

  constructor(options: SimulatedClientOptions) {
    this.#options = options;
  }

  get userId(): string {
    return this.#options.userId;
  }

  /** Connects, and enables resuming of the session. */
  async open(): Promise<void> {
    await this.#connect();
    await this.request("PATCH", `/v4/sessions/${this.#sessionId}`, { resuming: true, timeout: RESUME_SECONDS });
  }

  /** Resolves when there is a session that takes requests. */
  get whenConnected(): Promise<void> {
    return this.#whenConnected;
  }

  /** PATCH player; throws with the node's own words unless it answers 200. */
  async update(guildId: string, body: object): Promise<PlayerView> {
    for (;;) {
      // A session whose client has disconnected is not found.
      const connection = this.#whenConnected;
      await connection;
      const path = `/v4/sessions/${this.#sessionId}/players/${guildId}`;
      try {
        return (await this.request("PATCH", path, body)) as PlayerView; // protocol-v4.md section 3.1
      } catch (error) {
        if (connection === this.#whenConnected) throw error;
      }
    }
  }

  /** Loads one track; its encoded form. */
  async load(identifier: string): Promise<string> {
    const result = await this.request("GET", `/v4/loadtracks?identifier=${encodeURIComponent(identifier)}`);
    const { loadType, data } = result as { readonly loadType: string; readonly data: { readonly encoded: string } };
    if (loadType !== "track") throw new Error(`${identifier}: ${JSON.stringify(result)}`);
    return data.encoded;
  }

  /** Cuts the connection; the client reconnects by itself, `afterMs` later. */
  drop(afterMs: number): void {
    this.#socket?.terminate();
    this.#socket = undefined;
    this.#whenConnected = this.#comeBack(afterMs);
  }

  close(): void {
    this.#isLeaving = true;
    this.#socket?.close(1000);
  }

  async request(method: string, path: string, body?: object): Promise<unknown> {
    const { password, connect } = this.#options;
    const answer = await requestNode({ url: NODE_URL, password, connect }, { method, path, body });
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  #connect(): Promise<void> {
    const { password, userId, connect, onMessage } = this.#options;
    const socket = new WebSocket("ws://127.0.0.1/v4/websocket", {
      perMessageDeflate: false,
      headers: {
        Authorization: password,
        "User-Id": userId,
        "Client-Name": "tonearm-simulation/1",
        ...(this.#sessionId !== undefined && { "Session-Id": this.#sessionId }),
      },
      createConnection: connect as () => never, // any stream does
    });
    this.#socket = socket;
    return new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("close", () => reject(new Error("closed")));
      socket.on("message", (data) => {
        if (this.#socket !== socket) return;
        const message: NodeMessage = JSON.parse(String(data));
        if (message.op === "ready") {
          this.#sessionId = String(message.sessionId);
          resolve();
        }
        onMessage(message);
      });
    });
  }

  async #comeBack(afterMs: number): Promise<void> {
    await pause(this.#options.clock, afterMs);
    while (!this.#isLeaving) {
      try {
        return await this.#connect();
      } catch {
        // No listener yet.
        await pause(this.#options.clock, RETRY_MS);
      }
    }
  }
}
