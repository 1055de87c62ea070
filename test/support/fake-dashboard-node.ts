// A node as the dashboard's page sees it: serves the built page, checks passwords, and speaks the messages of
// /dashboard/live. It can be stopped and started again on its port; logins survive that, as on a real node.

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { type WebSocket, WebSocketServer } from "ws";
import type {
  DashboardAction,
  DashboardRole,
  LogRow,
  PageMessage,
  PlayerRow,
  StateMessage,
  ViewMessage,
} from "../../src/control/dashboard/live-messages.ts";
import type { NodeSample } from "../../src/observability/status/node-history.ts";
import { diagnosisOf, sourcesAt, stateMessage } from "./dashboard-messages.ts";
import { PROJECT_ROOT } from "./project-files.ts";

const PAGE = `${PROJECT_ROOT}dist/node/dashboard/`;
const FILES: Readonly<Record<string, readonly [string, string]>> = {
  "/dashboard": ["index.html", "text/html; charset=utf-8"],
  "/dashboard/": ["index.html", "text/html; charset=utf-8"],
  "/dashboard/app.js": ["app.js", "text/javascript; charset=utf-8"],
  "/dashboard/app.css": ["app.css", "text/css; charset=utf-8"],
  "/dashboard/icon.svg": ["icon.svg", "image/svg+xml"],
};
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
const WRONG_MAX = 3;
const LEVELS = ["debug", "info", "warn", "error"];
const WATCH_ALL: ViewMessage = {
  type: "view",
  filter: "",
  onlyTrouble: false,
  offset: 0,
  count: 100,
  focus: null,
  logLevel: null,
};

/** By role. */
export const PASSWORDS: Readonly<Record<DashboardRole, string>> = { operator: "let me do it", viewer: "let me see" };

interface Viewer {
  readonly socket: WebSocket;
  readonly role: DashboardRole;
  view: ViewMessage;
}

/** `start` it, and `stop` it at the end. */
export class FakeDashboardNode {
  readonly views: ViewMessage[] = [];
  readonly actions: DashboardAction[] = [];
  /** The answer to actions: null is done, undefined is no answer. */
  answer: string | null | undefined = null;
  version = "0.1.0";
  /** The reason why further logins are refused. */
  refusal: string | undefined;
  rows: readonly PlayerRow[];
  /** The node's last hour. */
  samples: readonly NodeSample[] = [];
  /** Differences from the default state. */
  changes: Partial<StateMessage> = {};
  readonly #intervalMs: number;
  readonly #startMs = Date.now();
  readonly #logins = new Map<string, DashboardRole>();
  readonly #viewers = new Set<Viewer>();
  readonly #log: LogRow[] = [];
  #wrong = 0;
  #port = 0;
  #server: Server | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(rows: readonly PlayerRow[], { intervalMs = 200 } = {}) {
    this.rows = rows;
    this.#intervalMs = intervalMs;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    const sockets = new WebSocketServer({ noServer: true });
    server.on("upgrade", (request, socket, head) => {
      const role = this.#roleOf(request);
      if (request.url !== "/dashboard/live" || role === undefined) {
        socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
        return;
      }
      sockets.handleUpgrade(request, socket, head, (webSocket) => this.#welcome(webSocket, role));
    });
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
    this.#timer = setInterval(() => this.say(), this.#intervalMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const { socket } of this.#viewers) socket.terminate();
    this.#viewers.clear();
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  /** Invalidates all cookies, and disconnects all clients. */
  forgetLogins(): void {
    this.#logins.clear();
    for (const { socket } of this.#viewers) socket.close();
  }

  /** Sends the state to all viewers, now. */
  say(): void {
    for (const viewer of this.#viewers) this.#send(viewer, this.#stateFor(viewer.view));
  }

  log(level: LogRow["level"], message: string): void {
    const atMs = Date.now();
    const time = new Date(atMs).toISOString().replace("T", " ").replace("Z", "");
    const line = { atMs, level, text: `${time} ${level.toUpperCase().padEnd(5)} ${message}` };
    this.#log.push(line);
    for (const viewer of this.#viewers) this.#sendLog(viewer, [line]);
  }

  /** The current state of the player with that number. */
  change(index: number, changes: Partial<PlayerRow>): void {
    this.rows = this.rows.map((row, at) => (at === index ? { ...row, ...changes } : row));
  }

  #welcome(socket: WebSocket, role: DashboardRole): void {
    const viewer: Viewer = { socket, role, view: WATCH_ALL };
    this.#viewers.add(viewer);
    socket.on("close", () => this.#viewers.delete(viewer));
    socket.on("message", (data) => this.#receive(viewer, JSON.parse(String(data)) as PageMessage));
    this.#send(viewer, { type: "hello", role, version: this.version, intervalMs: this.#intervalMs });
    this.#send(viewer, { type: "history", samples: this.samples });
    this.#send(viewer, this.#stateFor(viewer.view));
  }

  #receive(viewer: Viewer, message: PageMessage): void {
    if (message.type === "view") {
      viewer.view = message;
      this.views.push(message);
      this.#send(viewer, this.#stateFor(message));
      this.#sendLog(viewer, this.#log);
      return;
    }
    this.actions.push(message.action);
    if (this.answer !== undefined) this.#send(viewer, { type: "done", id: message.id, error: this.answer });
  }

  #stateFor({ filter, onlyTrouble, offset, count, focus }: ViewMessage): StateMessage {
    const atMs = Date.now();
    const sought = filter.toLowerCase();
    const rows = this.rows
      .map((row) => {
        const moved = row.isPaused ? 0 : atMs - this.#startMs;
        return { ...row, positionMs: row.positionMs + moved, cost: (row.cost ?? 0) + Math.random() / 1000 };
      })
      .filter(({ lastIncident }) => !onlyTrouble || lastIncident !== null)
      .filter(({ guildId, sessionId, track }) =>
        `${guildId} ${sessionId} ${track?.title} ${track?.author}`.toLowerCase().includes(sought),
      );
    const watched = rows.find((row) => row.guildId === focus?.guildId && row.sessionId === focus.sessionId);
    return stateMessage(this.rows, {
      atMs,
      players: { total: this.rows.length, matching: rows.length, rows: rows.slice(offset, offset + count) },
      sources: sourcesAt(atMs),
      focus: watched === undefined ? null : diagnosisOf(watched, atMs),
      ...this.changes,
    });
  }

  #sendLog(viewer: Viewer, lines: readonly LogRow[]): void {
    const { logLevel } = viewer.view;
    if (logLevel === null) return;
    const loud = lines.filter(({ level }) => LEVELS.indexOf(level) >= LEVELS.indexOf(logLevel));
    if (loud.length > 0) this.#send(viewer, { type: "log", lines: loud });
  }

  #send({ socket }: Viewer, message: object): void {
    socket.send(JSON.stringify(message));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ""] = (request.url ?? "").split("?");
    const file = FILES[path];
    response.setHeader("Content-Security-Policy", POLICY);
    response.setHeader("X-Content-Type-Options", "nosniff");
    if (request.method === "GET" && file !== undefined) {
      response.setHeader("Content-Type", file[1]);
      response.end(readFileSync(PAGE + file[0]));
      return;
    }
    const role = this.#roleOf(request);
    switch (`${request.method} ${path}`) {
      case "POST /dashboard/login":
        return this.#logIn(request, response);
      case "POST /dashboard/logout":
        this.#logins.delete(request.headers.cookie ?? "");
        response.writeHead(204).end();
        return;
      case "GET /dashboard/session":
        if (role !== undefined && this.refusal !== undefined) {
          response.writeHead(503, { "Lavalink-Api-Version": "4" }).end(this.refusal);
          return;
        }
        response.writeHead(role === undefined ? 401 : 200).end(JSON.stringify({ role }));
        return;
      case "GET /dashboard/support":
        response.setHeader("Content-Disposition", 'attachment; filename="tonearm-support.txt"');
        response.writeHead(role === "operator" ? 200 : 403).end("versions and counters\n");
        return;
      default:
        response.writeHead(404).end();
    }
  }

  async #logIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { password } = (await json(request)) as { readonly password: string };
    const role = (Object.keys(PASSWORDS) as DashboardRole[]).find((name) => PASSWORDS[name] === password);
    if (role === undefined) {
      this.#wrong += 1;
      if (this.#wrong > WRONG_MAX) response.writeHead(429, { "Retry-After": "7" }).end();
      else response.writeHead(403).end();
      return;
    }
    const cookie = `tonearm=${role}${this.#logins.size}`;
    this.#logins.set(cookie, role);
    response.writeHead(204, { "Set-Cookie": `${cookie}; HttpOnly; SameSite=Strict; Path=/dashboard` }).end();
  }

  #roleOf({ headers }: IncomingMessage): DashboardRole | undefined {
    return this.#logins.get(headers.cookie ?? "");
  }
}
