// One WebSocket of a bot to the fake main gateway (v10, JSON): Hello, Identify, Ready, the guild, heartbeats and op 4.
// Whatever Discord would close the connection for closes it here, with the same code. Requested compression is not
// applied, which every library accepts.

import type { RawData, WebSocket } from "ws";
import { envelope, identifyPayload, voiceStateRequest } from "./bot-messages.ts";
import { applicationJson, BOT_ID, GUILD_ID, userJson } from "./guild.ts";

interface GatewayMessage {
  readonly op: number;
  readonly d: unknown;
  readonly s: number | null;
  readonly t: string | null;
}

/** What a connection needs of the server. */
interface ConnectionHost {
  readonly token: string;
  guildFor(intents: number): object;
  /** The bot asks to be in this channel, or in none. */
  moveBot(channelId: string | null): void;
  /** Something that no well-behaved bot does. */
  reportProblem(what: string): void;
  /** Something changed that a caller may be waiting for. */
  changed(): void;
}

const GUILDS_INTENT = 1 << 0;
export const VOICE_STATES_INTENT = 1 << 7;
/** Members, presences, message content: off unless switched on at Discord, which the tutorial does without. */
const PRIVILEGED_INTENTS = (1 << 1) | (1 << 8) | (1 << 15);
const HEARTBEAT_INTERVAL_MS = 41_250;

export class BotConnection {
  readonly #host: ConnectionHost;
  readonly #socket: WebSocket;
  #intents: number | undefined;
  #sequence = 0;

  constructor(host: ConnectionHost, socket: WebSocket) {
    this.#host = host;
    this.#socket = socket;
    socket.on("error", () => undefined); // malformed frames: `ws` closes the socket itself
    socket.on("message", (data) => this.#onMessage(data));
    this.#send({ op: 10, d: { heartbeat_interval: HEARTBEAT_INTERVAL_MS }, s: null, t: null });
  }

  /** The intents that the bot identified with; undefined: it is not ready. */
  get intents(): number | undefined {
    return this.#socket.readyState === this.#socket.OPEN ? this.#intents : undefined;
  }

  dispatch(type: string, d: object): void {
    this.#send({ op: 0, t: type, s: ++this.#sequence, d });
  }

  #onMessage(data: RawData): void {
    const message = envelope.safeParse(parseJson(String(data)));
    const { op, d } = message.data ?? {};
    if (op === undefined) this.#close(4002, "Error while decoding payload.");
    else if (op === 1) this.#onHeartbeat(d);
    else if (op === 2) this.#onIdentify(d);
    else if (this.#intents === undefined) this.#close(4003, "Not authenticated.");
    else if (op === 4) this.#onVoiceState(d);
    else if (op !== 3) this.#close(4001, `Unknown opcode: ${op}.`); // 3: presence update, which is ignored here
  }

  #onHeartbeat(d: unknown): void {
    if (d !== null && (typeof d !== "number" || d > this.#sequence)) {
      this.#host.reportProblem(`a heartbeat with ${JSON.stringify(d)}, and the last message was ${this.#sequence}`);
    }
    this.#send({ op: 11, d: null, s: null, t: null });
  }

  #onIdentify(d: unknown): void {
    const { data, error } = identifyPayload.safeParse(d);
    if (data === undefined) {
      this.#host.reportProblem(`Identify: ${error.message}`);
      this.#close(4002, "Error while decoding payload.");
    } else if (this.#intents !== undefined) this.#close(4005, "Already authenticated.");
    else if (data.token !== this.#host.token) this.#close(4004, "Authentication failed.");
    else if ((data.intents & PRIVILEGED_INTENTS) !== 0) this.#close(4014, "Disallowed intent(s).");
    else this.#welcome(data.intents);
  }

  #welcome(intents: number): void {
    this.#intents = intents;
    this.dispatch("READY", {
      v: 10,
      user: userJson(BOT_ID),
      guilds: [{ id: GUILD_ID, unavailable: true }],
      session_id: "the bot's session",
      resume_gateway_url: "wss://gateway.discord.gg",
      shard: [0, 1],
      application: applicationJson(),
    });
    if ((intents & GUILDS_INTENT) !== 0) this.dispatch("GUILD_CREATE", this.#host.guildFor(intents));
    this.#host.changed();
  }

  #onVoiceState(d: unknown): void {
    const { data, error } = voiceStateRequest.safeParse(d);
    if (data === undefined) this.#host.reportProblem(`op 4: ${error.message}`);
    else if (data.guild_id !== GUILD_ID)
      this.#host.reportProblem(`op 4 for guild ${data.guild_id}, where the bot is not`);
    else this.#host.moveBot(data.channel_id);
  }

  #send(message: GatewayMessage): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }
}

/** discord.py writes ids as numbers, which Discord takes and JavaScript would round. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/("(?:guild|channel)_id": ?)(\d+)/g, '$1"$2"'));
  } catch {
    return undefined;
  }
}
