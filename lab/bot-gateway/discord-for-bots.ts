// Discord as a whole bot sees it, with an unmodified library: REST and main gateway behind TLS, one guild, a member who
// types slash commands and listens in its voice channel. Voice itself is the fake Discord of lab/discord, to which the
// bot's node is directed. Runs in the thread that starts it.
//
//     const discord = await DiscordForBots.start({ voice: await FakeDiscord.start(), certificate, token });
//     // … a bot whose connections to discord.com:443 and gateway.discord.gg:443 end at discord.port starts …
//     discord.memberJoins();
//     await discord.type("/play query:https://…"); // resolves with what the bot answers
//     discord.assertClean(); // throws with everything a real Discord would have refused

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { systemClock } from "../../src/lib/clock.ts";
import type { FakeDiscord } from "../discord/fake-discord.ts";
import type { Listener } from "../discord/listener.ts";
import type { IssuedVoice } from "../discord/voice-session.ts";
import { Waiters } from "../discord/waiters.ts";
import { BotConnection, VOICE_STATES_INTENT } from "./bot-connection.ts";
import type { Command } from "./bot-messages.ts";
import { BOT_ID, GUILD_ID, guildJson, interactionJson, MEMBER_ID, VOICE_CHANNEL_ID, voiceStateJson } from "./guild.ts";
import { answerBot, type Interaction, type RestWorld } from "./rest-routes.ts";

interface DiscordForBotsOptions {
  /** Voice servers; the guild's voice channel is made there. */
  readonly voice: FakeDiscord;
  /** PEM, for `discord.com` and `gateway.discord.gg`. */
  readonly certificate: { readonly key: string; readonly cert: string };
  /** The bot's. */
  readonly token: string;
}

const API = "/api/v10";
const BODY_BYTES_MAX = 1024 * 1024;
const WAIT_MS = 60_000;

export class DiscordForBots {
  readonly #options: DiscordForBotsOptions;
  readonly #server: Server;
  readonly #webSockets = new WebSocketServer({ noServer: true, maxPayload: 4096 }); // Discord's own limit
  readonly #waiters = new Waiters(systemClock);
  readonly #problems: string[] = [];
  readonly #interactions: Interaction[] = [];
  #commands: readonly Command[] = [];
  #connection: BotConnection | undefined;
  #botVoice: IssuedVoice | undefined;
  #isMemberInVoice = false;

  private constructor(options: DiscordForBotsOptions, server: Server) {
    this.#options = options;
    this.#server = server;
    server.on("request", (request, response) => void this.#onRequest(request, response));
    server.on("upgrade", (request, socket, head) => this.#onUpgrade(request, socket, head));
  }

  static async start(options: DiscordForBotsOptions): Promise<DiscordForBots> {
    options.voice.createChannel({ guildId: GUILD_ID, channelId: VOICE_CHANNEL_ID, listenerIds: [MEMBER_ID] });
    const server = createServer(options.certificate);
    const discord = new DiscordForBots(options, server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return discord;
  }

  /** On 127.0.0.1, for REST and gateway. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port; // listens on TCP
  }

  /** The member as a listener. */
  get listener(): Listener {
    return this.#options.voice.channel(VOICE_CHANNEL_ID).listener;
  }

  get isBotInVoice(): boolean {
    return this.#botVoice !== undefined;
  }

  /** The member joins the voice channel. */
  memberJoins(): void {
    this.#isMemberInVoice = true;
    this.#sendVoiceState(this.#memberState());
  }

  /**
   * The member types a slash command, `/play query:some words`, once the bot has registered it. Resolves with what the
   * bot answers.
   */
  async type(text: string): Promise<string> {
    const { name, values } = readTyped(text);
    const isKnown = () =>
      this.#connection?.intents !== undefined && this.#commands.some((known) => known.name === name);
    await this.until(isKnown, `bot with a command /${name}`);
    const index = this.#commands.findIndex((known) => known.name === name);
    const command = this.#commands[index]!; // the wait has just found it
    const refusal = refusalOf(command, values);
    if (refusal !== undefined) throw new Error(`fake Discord: ${text}: ${refusal}`);
    const number = this.#interactions.length + 1;
    const interaction: Interaction = {
      id: `${600_000_000_000_000_000n + BigInt(number)}`,
      token: `interaction-token-${number}`,
      state: "new",
      answer: "",
    };
    this.#interactions.push(interaction);
    const { id, token } = interaction;
    this.#connection?.dispatch("INTERACTION_CREATE", interactionJson({ id, token, index, command, values }));
    await this.until(() => interaction.state === "answered", `answer to ${text}`);
    return interaction.answer;
  }

  /** Resolves once `condition` holds, checked after everything the bot does; rejects naming `what`. */
  until(condition: () => boolean, what: string): Promise<void> {
    return this.#waiters.until(condition, what, WAIT_MS);
  }

  /** Throws with everything that a real Discord would have refused. */
  assertClean(): void {
    if (this.#problems.length > 0) throw new Error(`the fake Discord reports:\n  ${this.#problems.join("\n  ")}`);
  }

  async close(): Promise<void> {
    this.#waiters.close();
    for (const socket of this.#webSockets.clients) socket.terminate();
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "https://discord.com");
    const body = await readJson(request);
    if (request.headers.host !== "discord.com" || !url.pathname.startsWith(`${API}/`)) {
      this.#reportProblem(
        `${request.method} ${request.headers.host}${url.pathname}, which is not ${API} of discord.com`,
      );
    }
    const { authorization, "user-agent": agent } = request.headers;
    // Answers to interactions come without a password, and from discord.py without the agent that all others must name.
    if (authorization !== undefined && !agent?.startsWith("DiscordBot ("))
      this.#reportProblem(`a bot's request by ${agent}`);
    const { status, json } = answerBot(this.#restWorld(), {
      method: request.method ?? "",
      path: decodeURIComponent(url.pathname.slice(API.length)),
      query: url.searchParams,
      authorization,
      body,
    });
    response.statusCode = status;
    if (json === undefined) response.end();
    else response.setHeader("content-type", "application/json").end(JSON.stringify(json));
  }

  #restWorld(): RestWorld {
    return {
      token: this.#options.token,
      interactions: this.#interactions,
      register: (commands) => {
        this.#commands = commands;
        this.#waiters.changed();
      },
      reportProblem: (what) => this.#reportProblem(what),
      changed: () => this.#waiters.changed(),
    };
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { searchParams } = new URL(request.url ?? "/", "https://gateway.discord.gg");
    if (searchParams.get("v") !== "10" || searchParams.get("encoding") !== "json") {
      this.#reportProblem(`a gateway connection with ${searchParams}, not version 10 and JSON`);
    }
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      this.#connection = new BotConnection(
        {
          token: this.#options.token,
          guildFor: (intents) => guildJson(knowsVoice(intents) ? this.#voiceStates() : []),
          moveBot: (channelId) => this.#moveBot(channelId),
          reportProblem: (what) => this.#reportProblem(what),
          changed: () => this.#waiters.changed(),
        },
        webSocket,
      );
    });
  }

  #moveBot(channelId: string | null): void {
    const { voice } = this.#options;
    if (channelId !== null && channelId !== VOICE_CHANNEL_ID) {
      this.#reportProblem(`op 4 for channel ${channelId}, which is no voice channel of the guild`);
    } else if (channelId === null) {
      if (this.#botVoice !== undefined) voice.session(this.#botVoice).close(4014, "Disconnected.");
      this.#botVoice = undefined;
      this.#sendBotState("");
    } else if (this.#botVoice !== undefined) {
      // The bot is already there.
      this.#sendBotState(this.#botVoice.sessionId);
    } else {
      this.#botVoice = voice.issueVoice({ guildId: GUILD_ID, channelId, userId: BOT_ID });
      const { token, endpoint, sessionId } = this.#botVoice;
      this.#sendBotState(sessionId);
      this.#connection?.dispatch("VOICE_SERVER_UPDATE", { guild_id: GUILD_ID, token, endpoint });
    }
    this.#waiters.changed();
  }

  /** A bot receives its own voice state whatever its intents. */
  #sendBotState(sessionId: string): void {
    const channelId = this.#botVoice?.channelId ?? null;
    this.#connection?.dispatch("VOICE_STATE_UPDATE", voiceStateJson(BOT_ID, channelId, sessionId));
  }

  #sendVoiceState(state: object): void {
    if (knowsVoice(this.#connection?.intents ?? 0)) this.#connection?.dispatch("VOICE_STATE_UPDATE", state);
  }

  #voiceStates(): readonly object[] {
    return this.#isMemberInVoice ? [this.#memberState()] : [];
  }

  #memberState(): object {
    return voiceStateJson(MEMBER_ID, VOICE_CHANNEL_ID, "the member's session");
  }

  #reportProblem(what: string): void {
    this.#problems.push(what);
  }
}

function knowsVoice(intents: number): boolean {
  return (intents & VOICE_STATES_INTENT) !== 0;
}

/** `/play query:some words` */
function readTyped(text: string): { readonly name: string; readonly values: ReadonlyMap<string, string> } {
  const [, name = "", rest = ""] = /^\/(\S+)\s*(.*)$/.exec(text) ?? [];
  const parts = [...rest.matchAll(/(\S+?):(.*?)(?=\s+\w+:(?!\/\/)|$)/g)];
  return { name, values: new Map(parts.map(([, option = "", value = ""]) => [option, value])) };
}

/** Why Discord's client would not let a member send these values. */
function refusalOf({ options = [] }: Command, values: ReadonlyMap<string, string>): string | undefined {
  const missing = options.find(({ name, required }) => required === true && !values.has(name));
  if (missing !== undefined) return `${missing.name} is missing`;
  const unknown = [...values.keys()].find((name) => !options.some((option) => option.name === name));
  return unknown === undefined ? undefined : `there is no option ${unknown}`;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let sizeBytes = 0;
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      sizeBytes += part.length;
      if (sizeBytes <= BODY_BYTES_MAX) parts.push(part);
    }
    return JSON.parse(Buffer.concat(parts).toString());
  } catch {
    return undefined; // none, or none that can be read: the route says what it misses
  }
}
