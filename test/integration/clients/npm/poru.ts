// Drives poru as a bot with discord.js would. It knows only the resume keys of v3, so it cannot resume a session.

import { EventEmitter } from "node:events";
import { type Player, Poru, type Track } from "poru";
import type { RawPacket } from "../../../support/fake-shard.ts";
import type { ClientBinding, ClientDriver, EqualizerBand, LoadedTrack, RealClient } from "../client-driver.ts";
import { reportReady } from "./report-ready.ts";

const NODE = "tonearm";
/** In milliseconds; enough tries for a node that is restarted on a busy machine. */
const RECONNECTING = { reconnectTimeout: 500, reconnectTries: 100 };

export const poru: RealClient = { name: "poru", afterDrop: "gives up", create: (binding) => new PoruDriver(binding) };

class PoruDriver implements ClientDriver {
  readonly #binding: ClientBinding;
  readonly #bot: EventEmitter;
  readonly #manager: Poru;
  #player: Player | undefined;
  #track: Track | undefined;

  constructor(binding: ClientBinding) {
    this.#binding = binding;
    const guild = { shard: { send: binding.send } };
    this.#bot = Object.assign(new EventEmitter(), {
      user: { id: binding.userId },
      guilds: { cache: new Map([[binding.guildId, guild]]) },
    });
    const node = { name: NODE, host: binding.host, port: binding.port, password: binding.password };
    this.#manager = new Poru(this.#bot, [node], { library: "discord.js", ...RECONNECTING });
    this.#manager.on("nodeError", () => undefined);
    this.#manager.on("raw", (_from, message) => reportReady(message, binding.report));
    this.#manager.on("trackStart", () => binding.report("start"));
    this.#manager.on("queueEnd", () => binding.report("end"));
    this.#manager.on("playerUpdate", () => binding.report("update"));
  }

  async connect(): Promise<void> {
    await this.#manager.init();
  }

  async sessionId(): Promise<string> {
    return this.#manager.nodes.get(NODE)?.sessionId ?? "";
  }

  async load(url: string): Promise<LoadedTrack> {
    const { tracks } = await this.#manager.resolve({ query: url, requester: "somebody" });
    this.#track = tracks[0];
    return { title: this.#track?.info.title ?? "", lengthMs: this.#track?.info.length ?? 0 };
  }

  async join(): Promise<void> {
    const { guildId, channelId } = this.#binding;
    this.#player = this.#manager.createConnection({ guildId, voiceChannel: channelId, textChannel: channelId });
  }

  async play(): Promise<void> {
    if (this.#track !== undefined) this.#player?.queue.add(this.#track);
    await this.#player?.play();
  }

  async pause(isPaused: boolean): Promise<void> {
    await this.#player?.pause(isPaused);
  }

  async seek(positionMs: number): Promise<void> {
    await this.#player?.seekTo(positionMs);
  }

  async setVolume(percent: number): Promise<void> {
    await this.#player?.setVolume(percent);
  }

  async setEqualizer(bands: readonly EqualizerBand[]): Promise<void> {
    await this.#player?.filters.setEqualizer([...bands]);
  }

  async destroy(): Promise<void> {
    await this.#player?.destroy();
  }

  receive(packet: RawPacket): void {
    this.#bot.emit("raw", packet);
  }

  async close(): Promise<void> {
    await this.#manager.removeNode(NODE);
  }
}
