// The tools of a hostile case: sites to direct the node to, an attacker's sessions and players, raw HTTP and TCP. One
// instance per run of a case; everything it has opened is closed with it.

import { setMaxListeners } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { encodeTrack, httpTrack } from "../../conformance/workbench/encoded-track.ts";
import { NodeClient } from "../../conformance/workbench/node-client.ts";
import { type Answer, plainPlan } from "../../media-server/answer-plan.ts";
import { type LoggedRequest, MediaServer } from "../../media-server/media-server.ts";
import { Bot, type BotOptions, type NodeMessage } from "../../test-environment/bot.ts";
import { within } from "../../within.ts";
import type { ListeningPost } from "./listening-post.ts";
import type { KeyName, NodeContext } from "./node-context.ts";

interface AttackOptions {
  readonly url: string;
  readonly password: string;
  /** The address of loopback that it connects from; undefined: the usual one. */
  readonly localAddress?: string;
  /** Undefined where the node has only a password. */
  readonly context?: NodeContext | undefined;
  readonly post: Pick<ListeningPost, "issueVoice" | "audioPackets">;
  /** 0 (inclusive) to 1 (exclusive), the same in each run of one seed. */
  readonly random: () => number;
  /** How long hostile tracks play, and answers are awaited. */
  readonly seconds: number;
}

interface PlayOptions {
  /** Default 2. */
  readonly players?: number;
  /** Further fields of the PATCH. */
  readonly body?: object;
  /** Done when all have been started. */
  readonly meanwhile?: (bot: Bot, guildIds: readonly string[]) => Promise<unknown>;
}

type Script = (request: LoggedRequest) => Answer | undefined;

const MIME_TYPES: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  mp4: "audio/mp4",
  aac: "audio/aac",
  ogg: "audio/ogg",
  flac: "audio/flac",
  wav: "audio/wav",
  webm: "video/webm",
  mka: "audio/x-matroska",
  ts: "video/mp2t",
  m3u: "audio/x-mpegurl",
  m3u8: "application/vnd.apple.mpegurl",
  pls: "audio/x-scpls",
  xspf: "application/xspf+xml",
};
/** Lavalink's names of containers in encoded tracks, where they differ from the file extension. */
const PROBE_NAMES: Readonly<Record<string, string>> = {
  mp4: "mp4",
  aac: "adts",
  ogg: "ogg",
  flac: "flac",
  wav: "wav",
  webm: "matroska/webm",
  mka: "matroska/webm",
  ts: "mpegts",
};
const HOSTILE_USER = "666000000000000000";
/** Players set up concurrently. */
const JOIN_WIDTH = 16;
let guildCount = 0;

export class Attack {
  readonly http: NodeClient;
  readonly random: () => number;
  readonly seconds: number;
  /** Problems that the case itself has found, apart from the control players' audio. */
  readonly problems: string[];
  /** Likewise, what a busy machine may cause as well. */
  readonly delays: string[];
  readonly #options: AttackOptions;
  readonly #scripts = new Map<string, Script>();
  readonly #bots: Bot[] = [];
  readonly #sockets: Socket[] = [];
  readonly #servers: Server[] = [];
  readonly #closing: (() => void)[] = [];
  readonly #end = new AbortController();
  readonly #media: MediaServer;
  readonly #others: Attack[] = [];
  #bot: Promise<Bot> | undefined;

  private constructor(
    options: AttackOptions,
    media: MediaServer,
    scripts: Map<string, Script>,
    findings: Pick<Attack, "problems" | "delays"> = { problems: [], delays: [] },
  ) {
    this.#options = options;
    this.#media = media;
    this.#scripts = scripts;
    this.problems = findings.problems;
    this.delays = findings.delays;
    const { localAddress } = options;
    setMaxListeners(0, this.#end.signal); // one for each request
    this.http = new NodeClient(options.url, options.password, localAddress === undefined ? {} : { localAddress });
    this.random = options.random;
    this.seconds = options.seconds;
  }

  static async start(options: AttackOptions): Promise<Attack> {
    const scripts = new Map<string, Script>();
    const script = (request: LoggedRequest) => scripts.get(request.path.split("/")[1] ?? "")?.(request);
    return new Attack(options, await MediaServer.start({ script }), scripts);
  }

  /** Keys, sites and files of a node with the setting "shared" or "routed". */
  get context(): NodeContext {
    if (this.#options.context === undefined) throw new Error("the case needs a node with another setting");
    return this.#options.context;
  }

  /** The node's password, or the key that this client has. */
  get password(): string {
    return this.#options.password;
  }

  /** Aborts with the end of the attack, which also ends its requests. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Another client of the node, with a key or, undefined, the same password. It is closed with this one. */
  as(key: KeyName | undefined, { localAddress }: { readonly localAddress?: string } = {}): Attack {
    const password = key === undefined ? this.password : this.context.keys[key];
    const options = { ...this.#options, password, ...(localAddress === undefined ? {} : { localAddress }) };
    const other = new Attack(options, this.#media, this.#scripts, this);
    this.#others.push(other);
    return other;
  }

  /** A site for this path: `answer` answers everything below the URL's folder. */
  serve(path: string, answer: Script): string {
    const site = `s${this.#scripts.size + 1}`;
    this.#scripts.set(site, answer);
    return `${this.#media.url}/${site}/${path}`;
  }

  serveFile(name: string, content: Uint8Array | string): string {
    const body = typeof content === "string" ? Buffer.from(content) : content;
    const plan = plainPlan(body, MIME_TYPES[extensionOf(name)]);
    return this.serve(name, () => plan);
  }

  /** A TCP server; `onRequest` is called for each connection once the request's header has arrived. */
  async serveRaw(
    onRequest: (socket: Socket, head: string) => void,
    path = "song.mp3",
    address = "127.0.0.1",
  ): Promise<string> {
    const server = createServer((socket) => {
      this.#keep(socket);
      socket.once("data", (head) => onRequest(socket, head.toString("latin1")));
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, address, resolve));
    const bound = server.address();
    return `http://${address}:${typeof bound === "object" ? bound?.port : 0}/${path}`;
  }

  /** A TCP connection to the node. */
  async connect(): Promise<Socket> {
    const socket = this.#dial();
    this.#keep(socket);
    await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
    return socket;
  }

  /** Opens a new session. */
  async openSession(options: Pick<BotOptions, "path" | "userId" | "sessionId"> = {}): Promise<Bot> {
    const bot = await Bot.connect({
      url: this.http.url,
      password: this.#options.password,
      userId: `${HOSTILE_USER.slice(0, -4)}${1000 + this.#bots.length}`,
      ...(this.#options.localAddress === undefined ? {} : { connect: () => this.#dial() }),
      ...options,
    });
    this.#bots.push(bot);
    return bot;
  }

  /** The default session. */
  session(): Promise<Bot> {
    this.#bot ??= this.openSession();
    return this.#bot;
  }

  /** A guild whose player is in a voice channel with a listener. */
  async join(bot: Bot, daveVersion = 0): Promise<string> {
    const guildId = newGuildId();
    const { userId } = bot;
    const voice = await this.#options.post.issueVoice({ guildId, userId, channelId: `${guildId}7`, daveVersion });
    await bot.update(guildId, { voice });
    return guildId;
  }

  /** PATCH of a player with an object, or with raw text; returns the answer in a word. */
  patch(bot: Bot, guildId: string, body: unknown, query = ""): Promise<string> {
    return this.answerTo("PATCH", `/v4/sessions/${bot.sessionId}/players/${guildId}${query}`, body);
  }

  /** The status of any request; the error when there is no answer. */
  async answerTo(method: string, path: string, body?: unknown): Promise<string> {
    const headers = { "Content-Type": "application/json" };
    const { signal } = this;
    const asked = this.http.request(method, path, body === undefined ? { signal } : { body, headers, signal });
    const reply = await within(asked, this.seconds * 1000).catch((error: Error) => error);
    if (reply === undefined) return "no answer yet";
    return reply instanceof Error ? reply.message : String(reply.status);
  }

  /** Registers a resource of the case to be closed with the attack. */
  onClose(close: () => void): void {
    this.#closing.push(close);
  }

  /** The answer of loadtracks, in a few words. */
  async load(identifier: string, timeoutMs = this.seconds * 1000): Promise<string> {
    const { signal } = this;
    const asked = this.http.get(`/v4/loadtracks?identifier=${encodeURIComponent(identifier)}`, { signal });
    const reply = await within(asked, timeoutMs);
    if (reply === undefined) return "load: no answer yet";
    const data = reply.json?.data;
    return `load: ${reply.json?.loadType ?? reply.status}${data?.message === undefined ? "" : ` (${data.message})`}`;
  }

  /** Plays a URL without loading it, in `players` players, and waits for the outcomes. */
  async play(url: string, { players = 2, body = {}, meanwhile }: PlayOptions = {}): Promise<string> {
    const bot = await this.session();
    const endsAtMs = performance.now() + this.seconds * 1000;
    const encoded = encodeTrack(httpTrack(url, { details: [PROBE_NAMES[extensionOf(url)] ?? "mp3"] }));
    const guildIds: string[] = [];
    for (let from = 0; from < players && performance.now() < endsAtMs; from += JOIN_WIDTH) {
      const group = Array.from({ length: Math.min(JOIN_WIDTH, players - from) }, () => this.join(bot));
      const joined = await Promise.all(group);
      guildIds.push(...joined);
      await Promise.all(joined.map((guildId) => bot.update(guildId, { track: { encoded }, ...body })));
    }
    await meanwhile?.(bot, guildIds);
    const isOver = (guildId: string) => bot.events("TrackEndEvent", guildId).length > 0;
    await bot
      .until(() => guildIds.every(isOver), "the ends", Math.max(1, endsAtMs - performance.now()))
      .catch(() => undefined); // players that still play
    return `play: ${summary(guildIds.map((guildId) => outcomeOf(bot, guildId)))}`;
  }

  /** Audio packets that arrived from this guild's player so far. */
  audioPackets(guildId: string): Promise<number> {
    return this.#options.post.audioPackets(guildId);
  }

  async loadAndPlay(url: string): Promise<string> {
    const [loaded, played] = await Promise.all([this.load(url), this.play(url)]);
    return `${loaded}; ${played}`;
  }

  async close(): Promise<void> {
    this.#release();
    for (const other of this.#others) other.#release();
    await this.#media.close();
  }

  #release(): void {
    this.#end.abort(new Error("the attack is over"));
    // The end of a session ends its players.
    for (const bot of this.#bots) bot.close();
    for (const close of this.#closing) close();
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
  }

  #dial(): Socket {
    const { hostname, port } = new URL(this.http.url);
    const { localAddress } = this.#options;
    return connect({
      host: hostname,
      port: Number(port),
      ...(localAddress === undefined ? {} : { localAddress }),
    });
  }

  #keep(socket: Socket): void {
    socket.on("error", () => undefined); // the node may disconnect at any time, as it should
    this.#sockets.push(socket);
  }
}

/** `3x plays, 1x exception (…)`. */
export function summary(outcomes: readonly (string | number)[]): string {
  const counts = new Map<string | number, number>();
  for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return Array.from(counts, ([outcome, count]) => (outcomes.length === 1 ? `${outcome}` : `${count}x ${outcome}`)).join(
    ", ",
  );
}

function extensionOf(path: string): string {
  return path.split(".").at(-1) ?? "";
}

function outcomeOf(bot: Bot, guildId: string): string {
  const [exception] = bot.events("TrackExceptionEvent", guildId);
  if (exception !== undefined) return `exception (${messageOf(exception)})`;
  const [end] = bot.events("TrackEndEvent", guildId);
  if (end !== undefined) return `ends (${end.reason})`;
  if (bot.events("TrackStuckEvent", guildId).length > 0) return "stuck";
  return bot.events("TrackStartEvent", guildId).length > 0 ? "plays" : "does not start";
}

function messageOf(event: NodeMessage): string {
  const { exception } = event as { exception?: { message?: string } };
  return exception?.message ?? "without a message";
}

function newGuildId(): string {
  return String(660_000_000_000_000_000n + BigInt(++guildCount));
}
