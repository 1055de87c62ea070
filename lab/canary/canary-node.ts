// The node that the canary uses: a separate node with the operator's configuration, on a free port of loopback, and a
// fake Discord that receives what it plays. All else is as in the real one: the same sources, options and egress.

import type { NodeConfig } from "../../src/config/node-config.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/log/log.ts";
import { createNode, type Node, type NodeOptions } from "../../src/node.ts";
import { FakeDiscord } from "../discord/fake-discord.ts";
import { Bot, type LoadView } from "../test-environment/bot.ts";

/** This much audio is enough to say that a track plays. */
const AUDIO_FRAMES = 150;
const FRAME_SECONDS = 0.02;
/** Events after which no more audio of a track follows. */
const ENDINGS: ReadonlySet<string> = new Set(["TrackExceptionEvent", "TrackStuckEvent", "TrackEndEvent"]);

/** An entry of `GET /v4/tonearm/sources`, as far as it is used here. */
export interface SourceView {
  readonly name: string;
  readonly backends: readonly { readonly name: string; readonly succeeded: number; readonly failed: number }[];
}

/** An entry of `GET /v4/tonearm/plugins`. */
export interface PluginView {
  readonly name: string;
  readonly state: string;
  readonly trouble: string | null;
  readonly sources: readonly string[];
}

interface AudioCheck {
  /** Seconds of audio received, at most three. */
  readonly seconds: number;
  /** From the request to the first audio; undefined: none arrived. */
  readonly startMs: number | undefined;
  /** Undefined: it plays; it may be shorter than three seconds. */
  readonly trouble: string | undefined;
}

export class CanaryNode {
  readonly #node: Node;
  readonly #discord: FakeDiscord;
  readonly #bot: Bot;
  #channelCount = 0;

  private constructor(parts: { readonly node: Node; readonly discord: FakeDiscord; readonly bot: Bot }) {
    this.#node = parts.node;
    this.#discord = parts.discord;
    this.#bot = parts.bot;
  }

  /**
   * `nodeOptions`: where its threads' modules are, for callers that do not run from `dist`. Rejects as `createNode`
   * does.
   */
  static async start(config: NodeConfig, nodeOptions: Partial<NodeOptions> = {}): Promise<CanaryNode> {
    const discord = await FakeDiscord.start({ keepFrames: false });
    let node: Node | undefined;
    try {
      node = await createNode(onLoopback(config), { logger: silentLogger, ...nodeOptions });
      const url = `http://${node.address.host}:${node.address.port}`;
      const bot = await Bot.connect({ url, password: config.server.password.reveal() });
      return new CanaryNode({ node, discord, bot });
    } catch (error) {
      await node?.close();
      await discord.close();
      throw error;
    }
  }

  /** The names of all enabled sources, in the order in which they are asked. */
  async sourceNames(): Promise<readonly string[]> {
    return (await this.#bot.request<{ readonly sourceManagers: string[] }>("GET", "/v4/info")).body.sourceManagers;
  }

  /** The sources of plugins. */
  async sources(): Promise<readonly SourceView[]> {
    return (await this.#bot.request<readonly SourceView[]>("GET", "/v4/tonearm/sources")).body;
  }

  async plugins(): Promise<readonly PluginView[]> {
    return (await this.#bot.request<readonly PluginView[]>("GET", "/v4/tonearm/plugins")).body;
  }

  /**
   * Changes options of the plugin that has this source. Resolves with a function that takes the change back. Rejects
   * with the node's error.
   */
  async changeOptions(source: string, options: Readonly<Record<string, unknown>>): Promise<() => Promise<void>> {
    const plugin = (await this.plugins()).find(({ sources }) => sources.includes(source));
    if (plugin === undefined) throw new Error(`the source ${source} has no plugin, so its options cannot change`);
    const change = async (changes: Readonly<Record<string, unknown>>): Promise<void> => {
      const path = `/v4/tonearm/plugins/${encodeURIComponent(plugin.name)}/options`;
      const { status, body } = await this.#bot.request<{ readonly message?: string }>("PATCH", path, changes);
      if (status !== 200) throw new Error(`changing options of ${plugin.name}: ${body.message ?? `HTTP ${status}`}`);
    };
    await change(options);
    return () => change(Object.fromEntries(Object.keys(options).map((name) => [name, null])));
  }

  async load(identifier: string): Promise<LoadView> {
    return (await this.#bot.load(identifier)).body;
  }

  /** Plays it to a new channel until three seconds of it were received, it ends, or the time is over. */
  async play(encoded: string, limitMs: number): Promise<AudioCheck> {
    const guildId = String(++this.#channelCount);
    const channelId = `${guildId}7`;
    const voice = this.#discord.issueVoice({ guildId, channelId, userId: this.#bot.userId, daveVersion: 0 });
    const channel = this.#discord.channel(channelId);
    const startedMs = systemClock.now();
    let [frameCount, startMs]: [number, number | undefined] = [0, undefined];
    channel.listener.onFrame = ({ isSilence }) => {
      if (isSilence) return;
      frameCount += 1;
      startMs ??= systemClock.now() - startedMs;
    };
    try {
      await this.#bot.update(guildId, { voice, track: { encoded } });
      // The first of them decides; the result of the other is ignored.
      await Promise.race([
        this.#discord.until(() => frameCount >= AUDIO_FRAMES, "sound", limitMs),
        this.#bot.until((message) => message.guildId === guildId && ENDINGS.has(String(message.type)), "end", limitMs),
      ]).catch(() => undefined);
    } finally {
      await this.#bot.destroy(guildId);
    }
    const seconds = Math.min(frameCount, AUDIO_FRAMES) * FRAME_SECONDS;
    return { seconds, startMs, trouble: this.#troubleOf(guildId, frameCount) };
  }

  async close(): Promise<void> {
    this.#bot.close();
    await this.#node.close();
    await this.#discord.close();
  }

  #troubleOf(guildId: string, frameCount: number): string | undefined {
    const [failed] = this.#bot.events("TrackExceptionEvent", guildId);
    if (failed !== undefined) return troubleText(failed.exception);
    if (frameCount === 0) return "no audio was received";
    const isShort = this.#bot.events("TrackEndEvent", guildId).some(({ reason }) => reason === "finished");
    return isShort || frameCount >= AUDIO_FRAMES ? undefined : "its audio stopped";
  }
}

/** The message of a protocol exception, with its cause where that says more. */
export function troubleText(exception: unknown): string {
  const { message, cause } = exception as { readonly message?: unknown; readonly cause?: unknown }; // protocol 3.5
  const [text, reason] = [String(message ?? "no reason was given"), String(cause ?? "")];
  return text.includes(reason.replace(/^\w+: /, "")) ? text : `${text} (${reason})`;
}

/** Only the fake Discord needs loopback to be allowed, and no TLS. */
function onLoopback({ server, network, voice, state, ...config }: NodeConfig): NodeConfig {
  return {
    ...config,
    server: { ...server, address: "127.0.0.1", port: 0 },
    network: { ...network, allow: [...network.allow, "127.0.0.1/32"] },
    voice: { ...voice, gatewayScheme: "ws" },
    // A running node has the folder.
    state: { ...state, isEnabled: false },
  };
}
