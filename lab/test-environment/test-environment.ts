// Everything on one machine: a node, a fake Discord to play to and a web site to play from. Demo, benchmarks and
// whole-node tests start it with one line.

import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import { loadConfig } from "../../src/config/load-config.ts";
import { type Logger, silentLogger } from "../../src/log/log.ts";
import type { LogRing } from "../../src/log/log-ring.ts";
import { createNode, type Node, type NodeEnvironment, type NodeOptions } from "../../src/node.ts";
import type { DiscordNetwork } from "../discord/discord-network.ts";
import { FakeDiscord, type FakeDiscordOptions, type IssueVoiceOptions } from "../discord/fake-discord.ts";
import { MediaServer, type MediaServerOptions } from "../media-server/media-server.ts";
import { Bot, type BotOptions } from "./bot.ts";

/** Time and network of a simulation (lab/simulate), in place of this machine's. */
export interface TestNodeEnvironment extends NodeEnvironment {
  readonly listen: (server: Server) => number;
  readonly discordNetwork: DiscordNetwork;
  /** A connection to this port from outside of the node. */
  readonly connect: (port: number) => Duplex;
}

export interface TestEnvironmentOptions {
  /** Environment variables for the node's configuration, in addition to those that connect it to the fakes. */
  readonly config?: Readonly<Record<string, string>>;
  /** Arguments for it, over those: `--tonearm.hosts.api-v2.example.org=…`. */
  readonly args?: readonly string[];
  readonly discord?: FakeDiscordOptions;
  readonly media?: MediaServerOptions;
  readonly logger?: Logger;
  /** Receives its log lines. */
  readonly logRing?: LogRing;
  /**
   * The modules of the audio workers and of the threads for probes, codecs, packets and plugins, when the caller does
   * not run from `dist`.
   */
  readonly mediaEntry?: URL;
  readonly probeEntry?: URL;
  readonly codecEntry?: URL;
  readonly pacerEntry?: URL;
  readonly pluginEntry?: URL;
  /** The available plugins and their locations. Default: none of the built-in ones. */
  readonly plugins?: NodeOptions["plugins"];
  /** Default: this machine. */
  readonly environment?: TestNodeEnvironment;
}

export const TEST_PASSWORD = "stage password";

export class TestEnvironment {
  readonly node: Node;
  readonly discord: FakeDiscord;
  readonly media: MediaServer;
  readonly #environment: TestNodeEnvironment | undefined;
  readonly #bots: Bot[] = [];

  private constructor(
    parts: { node: Node; discord: FakeDiscord; media: MediaServer },
    environment?: TestNodeEnvironment,
  ) {
    this.node = parts.node;
    this.discord = parts.discord;
    this.media = parts.media;
    this.#environment = environment;
  }

  static async start(options: TestEnvironmentOptions = {}): Promise<TestEnvironment> {
    const { environment } = options;
    const discord = await FakeDiscord.start({
      ...(environment && { clock: environment.clock, network: environment.discordNetwork }),
      ...options.discord,
    });
    const media = await MediaServer.start({
      ...(environment && { clock: environment.clock, listen: environment.listen }),
      ...options.media,
    });
    const { config, shown } = loadConfig({
      args: options.args ?? [],
      cwd: "/nonexistent",
      env: {
        SERVER_PORT: "0",
        LAVALINK_SERVER_PASSWORD: TEST_PASSWORD,
        TONEARM_NETWORK_ALLOW: "127.0.0.0/8",
        TONEARM_VOICE_GATEWAY_SCHEME: "ws",
        TONEARM_STATE_ENABLED: "false",
        ...options.config,
      },
    });
    const node = await createNode(config, {
      logger: options.logger ?? silentLogger,
      shownConfig: shown,
      ...(options.logRing === undefined ? {} : { logRing: options.logRing }),
      ...(options.mediaEntry === undefined ? {} : { mediaEntry: options.mediaEntry }),
      ...(options.probeEntry === undefined ? {} : { probeEntry: options.probeEntry }),
      ...(options.codecEntry === undefined ? {} : { codecEntry: options.codecEntry }),
      ...(options.pacerEntry === undefined ? {} : { pacerEntry: options.pacerEntry }),
      ...(options.pluginEntry === undefined ? {} : { pluginEntry: options.pluginEntry }),
      // None that would contact real sites, unless requested.
      plugins: { builtins: [], ...options.plugins },
      ...(environment === undefined ? {} : { environment }),
    });
    return new TestEnvironment({ node, discord, media }, environment);
  }

  /** `http://127.0.0.1:port` of the node. */
  get url(): string {
    return `http://${this.node.address.host}:${this.node.address.port}`;
  }

  /** A bot with a new session; closed with the environment. */
  async connectBot(options: Partial<BotOptions> = {}): Promise<Bot> {
    const environment = this.#environment;
    const bot = await Bot.connect({
      url: this.url,
      password: TEST_PASSWORD,
      ...(environment && { clock: environment.clock, connect: () => environment.connect(this.node.address.port) }),
      ...options,
    });
    this.#bots.push(bot);
    return bot;
  }

  /** Connects a bot's player to a voice channel; resolves when the fake Discord would accept audio from it. */
  async joinVoice(bot: Bot, options: Partial<IssueVoiceOptions> & { readonly guildId: string }): Promise<void> {
    const channelId = options.channelId ?? `${options.guildId}7`;
    const voice = this.discord.issueVoice({ userId: bot.userId, ...options, channelId });
    await bot.update(options.guildId, { voice });
    await this.discord.channel(channelId).settled();
  }

  async close(): Promise<void> {
    for (const bot of this.#bots) bot.close();
    await this.node.close();
    await this.discord.close();
    await this.media.close();
  }
}
