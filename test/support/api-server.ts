// A running API with real sessions and real players, on a free port of loopback, with workers that make no audio, and
// what a test needs to use it as a client: raw requests and WebSockets.

import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import type { OwnNodeEvent, OwnTrackEvent } from "../../src/bridge/plugin-players.ts";
import type { RequestLogging } from "../../src/config/node-config.ts";
import { KeyRing } from "../../src/control/access/key-ring.ts";
import type {
  LyricsControl,
  PlannerControl,
  PluginRestControl,
  SearchControl,
  SourceControl,
} from "../../src/control/api/api-context.ts";
import type { Metrics } from "../../src/control/api/metrics-route.ts";
import { type ClusterReport, NO_CLUSTER } from "../../src/control/cluster/cluster-status.ts";
import { MachineReports } from "../../src/control/cluster/machine-reports.ts";
import { DeadlyTracks } from "../../src/control/players/deadly-tracks.ts";
import { Player } from "../../src/control/players/player.ts";
import { SharedIncidents } from "../../src/control/players/shared-incidents.ts";
import { UpdateTimer } from "../../src/control/players/update-timer.ts";
import { Api, type ApiOptions } from "../../src/control/server/api.ts";
import type { TlsListener } from "../../src/control/server/tls-listener.ts";
import { LyricsSubscriptions } from "../../src/control/sessions/lyrics-subscriptions.ts";
import type { CreatePlayer } from "../../src/control/sessions/session-player.ts";
import type { Sessions } from "../../src/control/sessions/sessions.ts";
import type { LoadResult } from "../../src/control/sources/load-result.ts";
import type { LoadOptions } from "../../src/control/sources/track-loader.ts";
import { NodeState } from "../../src/control/state/node-state.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { type Logger, silentLogger } from "../../src/log/log.ts";
import { createInfo } from "../../src/observability/status/node-info.ts";
import { loadToJson } from "../../src/observability/status/node-load.ts";
import { createSessions } from "./session-builders.ts";
import { SilentWorkers } from "./silent-workers.ts";

/** The result of JSON.parse: tests inspect answers of every shape. */
type Parsed = ReturnType<JSON["parse"]>;

export const PASSWORD = "youshallnotpass";

interface ApiServerOptions {
  readonly password?: string;
  readonly clock?: Clock;
  /** Default: none is stored. */
  readonly state?: Pick<NodeState, "report" | "written">;
  /** Default: the node is alone. */
  readonly cluster?: ClusterReport;
  /** Default: the node is alone. */
  readonly reports?: ApiOptions["reports"];
  readonly logger?: Logger;
  readonly requestLogging?: RequestLogging;
  readonly metrics?: Metrics;
  readonly disabledFilters?: readonly string[];
  readonly routePlanner?: PlannerControl;
  readonly createPlayer?: CreatePlayer;
  readonly sources?: Partial<SourceControl>;
  readonly searches?: SearchControl;
  readonly lyrics?: LyricsControl;
  readonly pluginRest?: PluginRestControl;
  readonly load?: (identifier: string, options?: LoadOptions) => Promise<LoadResult>;
  readonly keys?: KeyRing;
  readonly tls?: TlsListener;
  readonly dashboard?: ApiOptions["dashboard"];
  readonly places?: ApiOptions["places"];
  readonly isGateway?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The parsed body; numbers beyond 2^53 lose digits. Undefined when it is no JSON. */
  readonly json: Parsed;
}

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | object;
  /** Null sends no Authorization header. */
  readonly password?: string | null;
}

export class ApiServer {
  readonly sessions: Sessions;
  readonly port: number;
  readonly #api: Api;
  readonly #keys: KeyRing;
  readonly #clients: TestClient[] = [];

  private constructor({
    sessions,
    api,
    keys,
    port,
  }: Pick<ApiServer, "sessions" | "port"> & { api: Api; keys: KeyRing }) {
    this.sessions = sessions;
    this.#api = api;
    this.#keys = keys;
    this.port = port;
  }

  static async start(options: ApiServerOptions = {}): Promise<ApiServer> {
    const clock = options.clock ?? systemClock;
    const load = options.load ?? (() => Promise.resolve({ kind: "empty" as const }));
    const onEvent = (event: OwnNodeEvent): void => lyricsSubscriptions.onEvent(event);
    const createPlayer = options.createPlayer ?? silentPlayers(clock, load, onEvent);
    const keys = options.keys ?? new KeyRing(clock);
    const limitsOf = (owner: string | undefined) => keys.limitsOf(owner);
    const sessions = createSessions({ clock, createPlayer, limitsOf, onEvent });
    const lyrics = options.lyrics ?? { isAvailable: false, find: async () => undefined };
    const allowedFor = () => undefined;
    const lyricsSubscriptions = new LyricsSubscriptions({ sessions, lyrics, allowedFor, logger: silentLogger });
    const disabledFilters = new Set(options.disabledFilters);
    const { state = new NodeState({ opened: undefined, clock, logger: silentLogger }) } = options;
    const api = new Api({
      password: options.password ?? PASSWORD,
      sessions,
      keys,
      tls: options.tls,
      dashboard: options.dashboard,
      places: options.places,
      isGateway: options.isGateway,
      limitsOf,
      tracks: { load },
      clock,
      logger: options.logger ?? silentLogger,
      requestLogging: options.requestLogging,
      metrics: options.metrics,
      disabledFilters,
      routePlanner: options.routePlanner,
      readLoad: () =>
        loadToJson({
          workers: [],
          hasSpare: false,
          complexity: 10,
          complexityMax: 10,
          movedCount: 0,
          refusedCount: 0,
          ...{ load: 0, loadPerPlayer: 0.01 },
          hasCapacity: true,
        }),
      readState: () => state.report(),
      readCluster: () => options.cluster ?? NO_CLUSTER,
      reports: options.reports ?? new MachineReports(undefined),
      written: () => state.written(),
      drain: async () => ({ moved: 0, left: 0 }),
      readSupport: async (key) => `# State of the running node ${key ?? ""}\n`,
      readInfo: () =>
        createInfo({
          version: "0.1.0",
          buildTimeMs: 1,
          git: { branch: "main", commit: "abcdef0", commitTimeMs: 1 },
          sourceNames: ["local", "http"],
          disabledFilters,
          plugins: [],
        }),
      searches: options.searches ?? { isAvailable: false, search: async () => undefined },
      lyrics,
      lyricsSubscriptions,
      pluginRest: options.pluginRest ?? { list: () => [] },
      sources: {
        sourcesJson: () => [],
        pluginsJson: () => [],
        reload: async () => undefined,
        change: async () => undefined,
        call: async () => undefined,
        ...options.sources,
      },
    });
    return new ApiServer({ sessions, api, keys, port: await api.listen({ host: "127.0.0.1", port: 0 }) });
  }

  request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { body, password = PASSWORD } = options;
    const text = typeof body === "object" ? JSON.stringify(body) : body;
    const headers = {
      ...(password === null ? {} : { Authorization: password }),
      ...(typeof body === "object" ? { "Content-Type": "application/json" } : {}),
      ...(text === undefined ? {} : { "Content-Length": String(Buffer.byteLength(text)) }),
      ...options.headers,
    };
    return new Promise((resolve, reject) => {
      const request = httpRequest({ host: "127.0.0.1", port: this.port, method, path, headers, agent: false });
      request.on("error", reject);
      request.on("response", (response) => void readAnswer(response).then(resolve));
      request.end(text);
    });
  }

  /** Opens a WebSocket as a well-behaved client does and waits for `ready`. */
  async connect(headers: Readonly<Record<string, string>> = {}): Promise<TestClient> {
    const { client, answer } = await this.handshake({
      headers: { Authorization: PASSWORD, "User-Id": "1", "Client-Name": "test/1", ...headers },
    });
    if (client === undefined) throw new Error(`the handshake was answered with ${answer.status}`);
    await client.until(({ op }) => op === "ready");
    return client;
  }

  /** Requests a WebSocket with exactly these headers. `client` is undefined when that was refused. */
  handshake(options: {
    path?: string;
    headers: Readonly<Record<string, string>>;
  }): Promise<{ answer: Answer; client: TestClient | undefined }> {
    const url = `ws://127.0.0.1:${this.port}${options.path ?? "/v4/websocket"}`;
    const socket = new WebSocket(url, { headers: options.headers });
    const client = new TestClient(socket);
    this.#clients.push(client);
    return new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("upgrade", ({ headers }) => {
        resolve({ answer: { status: 101, headers, body: "", json: undefined }, client });
      });
      socket.on("unexpected-response", (_request, response) => {
        void readAnswer(response).then((answer) => resolve({ answer, client: undefined }));
      });
    });
  }

  /** As the node does when the file of keys has changed. */
  keysChanged(): void {
    this.sessions.endUnowned((owner) => this.#keys.has(owner));
    this.#api.dropStale();
  }

  async close(): Promise<void> {
    for (const client of this.#clients) if (!client.socket.isPaused) client.socket.terminate();
    await this.sessions.close();
    await this.#api.close();
  }
}

export class TestClient {
  readonly socket: WebSocket;
  /** Everything received, parsed, oldest first. */
  readonly messages: Parsed[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  /** The headers of the 101. */
  handshake: IncomingHttpHeaders = {};
  #onMessage: () => void = () => undefined;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("upgrade", (response) => {
      this.handshake = response.headers;
    });
    socket.on("message", (data) => {
      this.messages.push(JSON.parse(String(data)));
      this.#onMessage();
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => resolve({ code, reason: String(reason) }));
    });
  }

  get sessionId(): string {
    return this.messages.find((message) => message.op === "ready").sessionId;
  }

  /** The messages other than stats. */
  get events() {
    return this.messages.filter((message) => message.op !== "stats");
  }

  /** Resolves with the first message, received already or later, that `matches`. */
  until(matches: (message: Parsed) => boolean): Promise<Parsed> {
    return new Promise((resolve) => {
      const check = (): void => {
        const found = this.messages.find(matches);
        if (found !== undefined) resolve(found);
      };
      const before = this.#onMessage;
      this.#onMessage = () => {
        before();
        check();
      };
      check();
    });
  }

  /** Resolves when the server has read and sent everything up to now. */
  async flushed(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.socket.once("pong", () => resolve());
      this.socket.ping();
    });
  }
}

function silentPlayers(
  clock: Clock,
  load: (identifier: string) => Promise<LoadResult>,
  onEvent: (event: OwnNodeEvent) => void,
): CreatePlayer {
  const workers = new SilentWorkers(clock);
  const updateTimer = new UpdateTimer({ clock, intervalMs: 5000 });
  const tracks = {
    load,
    playableInput: () => ({ kind: "http", url: "http://media.example/", container: undefined }) as const,
  };
  const sharedIncidents = new SharedIncidents({ clock, logger: silentLogger });
  const parts = { workers, tracks, updateTimer, deadlyTracks: new DeadlyTracks(), sharedIncidents, clock };
  return (options) => {
    const { sessionId, guildId } = options;
    const onTrackEvent = (event: OwnTrackEvent): void => onEvent({ ...event, sessionId, guildId });
    return new Player({ ...options, ...parts, onTrackEvent, logger: silentLogger, voiceConnectTimeoutMs: 1000 });
  };
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  let body = "";
  response.setEncoding("utf8");
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode ?? 0, headers: response.headers, body, json: parseOrUndefined(body) };
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not every answer is JSON
  }
}
