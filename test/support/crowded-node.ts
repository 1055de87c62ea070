// A real node in a separate process, at a port that it keeps over restarts, whose players play to a fake Discord.

import { FakeDiscord } from "../../lab/discord/fake-discord.ts";
import { freePort } from "../../lab/free-port.ts";
import { countedSong } from "../../lab/media-files/counted-song.ts";
import { MediaServer } from "../../lab/media-server/media-server.ts";
import { Bot } from "../../lab/test-environment/bot.ts";
import { LISTENING, type RunningNode, RunningNodes } from "./running-node.ts";

const PASSWORD = "the node's own";
/** Longer than any test takes. */
const SONG_SECONDS = 3600;
/** One of so many packets is decrypted: enough to find a mistake, without the work of a thousand listeners. */
const DECRYPT_EVERY = 50;
/** Players that join at one time. */
const JOINING_MAX = 50;

/** Players are in guilds 1 to `playerCount`, each with a song of Opus that `listener` and its guild asked for. */
export class CrowdedNode {
  readonly origin: string;
  readonly #nodes = new RunningNodes();
  readonly #discord: FakeDiscord;
  readonly #media: MediaServer;
  readonly #config: string;
  readonly #playerCount: number;
  #node: RunningNode | undefined;

  private constructor(parts: { port: number; discord: FakeDiscord; media: MediaServer } & CrowdOptions) {
    const { port, discord, media, dashboardPassword, playerCount } = parts;
    this.origin = `http://127.0.0.1:${port}`;
    this.#discord = discord;
    this.#media = media;
    this.#playerCount = playerCount;
    this.#config = `
server.port: ${port}
lavalink.server.password: ${PASSWORD}
tonearm:
  dashboard.password: ${dashboardPassword}
  network.allow: [127.0.0.0/8]
  voice.gatewayScheme: ws
# All that it talks to is in one process, which takes its time on a busy machine.
lavalink.server.timeouts: { connectTimeoutMs: 30000, socketTimeoutMs: 30000 }
`;
  }

  /** Starts a node; resolves when all its players play. */
  static async start(options: CrowdOptions): Promise<CrowdedNode> {
    const discord = await FakeDiscord.start({ keepFrames: false, decryptEvery: DECRYPT_EVERY });
    const media = await MediaServer.start({ files: { "long.opus": countedSong({ seconds: SONG_SECONDS }) } });
    const crowded = new CrowdedNode({ ...options, port: await freePort(), discord, media });
    await crowded.restart();
    return crowded;
  }

  /** Starts it, where it does not run any more. */
  async restart(): Promise<void> {
    this.#node = this.#nodes.run(["start"], { config: this.#config });
    await this.#node.until(LISTENING);
    const bot = await Bot.connect({ url: this.origin, password: PASSWORD });
    const guilds = Array.from({ length: this.#playerCount }, (_, index) => String(index + 1));
    for (let first = 0; first < guilds.length; first += JOINING_MAX) {
      await Promise.all(guilds.slice(first, first + JOINING_MAX).map((guildId) => this.#play(bot, guildId)));
    }
  }

  get process(): RunningNode {
    if (this.#node === undefined) throw new Error("it was not started");
    return this.#node;
  }

  /** Audio frames that arrived from a guild's player since it joined. */
  received(guildId: string): number {
    return this.#discord.session(guildId).audioFrameCount;
  }

  async close(): Promise<void> {
    this.#nodes.close();
    await this.#discord.close();
    await this.#media.close();
  }

  async #play(bot: Bot, guildId: string): Promise<void> {
    const channelId = channelOf(guildId);
    await bot.update(guildId, { voice: this.#discord.issueVoice({ userId: bot.userId, guildId, channelId }) });
    const userData = { requester: { username: `listener ${guildId}` } };
    await bot.update(guildId, { track: { identifier: `${this.#media.url}/long.opus`, userData } });
  }
}

interface CrowdOptions {
  readonly dashboardPassword: string;
  readonly playerCount: number;
}

function channelOf(guildId: string): string {
  return `${guildId}7`;
}
