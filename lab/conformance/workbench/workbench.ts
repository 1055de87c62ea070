// The tools of a check: the node under test over raw REST and over sessions, the kit's media and voice server, and
// players that no other check uses. One bench per check, cleared when the check is over.

import { WebSocket } from "ws";
import type { FakeDiscord } from "../../discord/fake-discord.ts";
import type { IssuedVoice } from "../../discord/voice-session.ts";
import type { MediaServer } from "../../media-server/media-server.ts";
import { Bot, type BotOptions } from "../../test-environment/bot.ts";
import { type Json, type NodeClient, type Reply, type RequestOptions, readReply } from "./node-client.ts";

export interface CheckContext {
  readonly http: NodeClient;
  readonly media: MediaServer;
  readonly discord: FakeDiscord;
}

/** Guild ids count up over all benches, so that no two checks share a voice session. */
let lastGuild = 0;

export class Workbench {
  readonly http: NodeClient;
  readonly media: MediaServer;
  readonly discord: FakeDiscord;
  readonly #sessions: Bot[] = [];
  readonly #sockets: WebSocket[] = [];

  constructor({ http, media, discord }: CheckContext) {
    this.http = http;
    this.media = media;
    this.discord = discord;
  }

  /** A new session: the WebSocket is open and `ready` has arrived. */
  async session(options: Partial<BotOptions> = {}): Promise<Bot> {
    const bot = await Bot.connect({ url: this.http.url, password: this.http.password, ...options });
    this.#sessions.push(bot);
    return bot;
  }

  /** A player that does not exist yet, in a new session unless one is given. */
  async player(session?: Bot): Promise<PlayerUnderTest> {
    return new PlayerUnderTest(this, session ?? (await this.session()), newGuildId());
  }

  /** A player that has a track, which plays once voice is connected. */
  async busyPlayer(file = "tone.wav", body: object = {}): Promise<PlayerUnderTest> {
    const player = await this.player();
    await player.play(file, body);
    return player;
  }

  /** A player in a voice channel with a listener. */
  async connectedPlayer(session?: Bot): Promise<PlayerUnderTest> {
    const player = await this.player(session);
    await player.connect();
    return player;
  }

  /** Asks for a WebSocket with exactly these headers and gives the answer, 101 or not. */
  handshake(headers: Readonly<Record<string, string>>, path = "/v4/websocket"): Promise<Reply> {
    const socket = new WebSocket(`${this.http.url.replace("http", "ws")}${path}`, { headers });
    this.#sockets.push(socket);
    return new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("upgrade", (response) => {
        resolve({ status: 101, headers: response.headers, text: "", json: undefined });
      });
      socket.on("unexpected-response", (_request, response) => readReply(response).then(resolve, reject));
    });
  }

  load(identifier: string): Promise<Reply> {
    return this.http.get(`/v4/loadtracks?identifier=${encodeURIComponent(identifier)}`);
  }

  decode(encoded: string): Promise<Reply> {
    return this.http.get(`/v4/decodetrack?encodedTrack=${encodeURIComponent(encoded)}`);
  }

  /** URL of a file of the kit. */
  url(path: string): string {
    return `${this.media.url}/${path}`;
  }

  close(): void {
    for (const session of this.#sessions) session.close();
    for (const socket of this.#sockets) socket.terminate();
  }
}

export class PlayerUnderTest {
  readonly session: Bot;
  readonly guildId: string;
  readonly #bench: Workbench;

  constructor(bench: Workbench, session: Bot, guildId: string) {
    this.#bench = bench;
    this.session = session;
    this.guildId = guildId;
  }

  get path(): string {
    return `/v4/sessions/${this.session.sessionId}/players/${this.guildId}`;
  }

  patch(body: unknown, query = "", options: RequestOptions = {}): Promise<Reply> {
    return this.#bench.http.request("PATCH", `${this.path}${query}`, { body, ...options });
  }

  /** PATCH that must succeed; gives the player. */
  async update(body: object, query = ""): Promise<Json> {
    const reply = await this.patch(body, query);
    if (reply.status !== 200) throw new Error(`PATCH player was answered with ${reply.status} ${reply.text}`);
    return reply.json;
  }

  play(file: string, body: object = {}): Promise<Json> {
    return this.update({ track: { identifier: this.#bench.url(file) }, ...body });
  }

  get(): Promise<Reply> {
    return this.#bench.http.get(this.path);
  }

  destroy(): Promise<Reply> {
    return this.#bench.http.request("DELETE", this.path);
  }

  /** Credentials of the fake Discord for a channel of this guild. */
  issueVoice(channel = 7): IssuedVoice {
    const { guildId, session } = this;
    return this.#bench.discord.issueVoice({ guildId, userId: session.userId, channelId: `${guildId}${channel}` });
  }

  /** Joins a channel; resolves when the node reports that it is connected. */
  async connect(): Promise<IssuedVoice> {
    const voice = this.issueVoice();
    await this.update({ voice });
    await this.untilUpdate((state) => state.connected === true, "a playerUpdate that is connected");
    await this.#bench.discord.channel(voice.channelId).settled();
    return voice;
  }

  /** Messages of this guild, oldest first. */
  get messages(): Json[] {
    return this.session.messages.filter(({ guildId }) => guildId === this.guildId);
  }

  /** `TrackStart`, `TrackEnd(replaced)` and so on, in order. */
  get eventNames(): string[] {
    return this.messages
      .filter(({ op }) => op === "event")
      .map(({ type, reason, code }) => {
        const detail = reason && code === undefined ? `(${reason})` : code === undefined ? "" : `(${code})`;
        return `${String(type).replace("Event", "")}${detail}`;
      });
  }

  get updates(): Json[] {
    return this.messages.filter(({ op }) => op === "playerUpdate");
  }

  async untilEvent(type: string, timeoutMs?: number): Promise<Json> {
    return this.session.until((one) => one.type === type && one.guildId === this.guildId, type, timeoutMs);
  }

  /** The first playerUpdate, received already or later, whose state fits. */
  async untilUpdate(fits: (state: Json) => boolean, what: string): Promise<Json> {
    const isIt = (one: Json) => one.op === "playerUpdate" && one.guildId === this.guildId && fits(one.state);
    return this.session.until(isIt, what);
  }
}

function newGuildId(): string {
  return String(700_000_000_000_000_000n + BigInt(++lastGuild));
}
