// Drives poru 4, the last line of it that speaks v3, as a bot with discord.js would. Its updates have a slash at the end
// of their path. It does not resume unless it is given a key, and then moves its players itself.

import { EventEmitter } from "node:events";
import { type Player, Poru, type Track } from "poru-v4";
import { expect, vi } from "vitest";
import type { RawPacket } from "../../../support/fake-shard.ts";
import type { ClientBinding, ClientDriver, EqualizerBand, LoadedTrack, RealClient } from "../client-driver.ts";
import { reportReady } from "./report-ready.ts";

const NODE = "tonearm";
/** In milliseconds; enough tries for a node that is restarted on a busy machine. */
const RECONNECTING = { reconnectTimeout: 500, reconnectTries: 100 };

export const poruV4: RealClient = {
  name: "poru 4",
  afterDrop: "gives up",
  create: (binding) => new PoruV4Driver(binding),
};

class PoruV4Driver implements ClientDriver {
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
    this.#manager.init(this.#bot);
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
    this.#player = this.#manager.createConnection({
      guildId,
      voiceChannel: channelId,
      textChannel: channelId,
      deaf: false,
      mute: false,
    });
  }

  async play(): Promise<void> {
    if (this.#track !== undefined) this.#player?.queue.add(this.#track);
    await this.#player?.play();
  }

  async pause(isPaused: boolean): Promise<void> {
    this.#player?.pause(isPaused);
  }

  async seek(positionMs: number): Promise<void> {
    this.#player?.seekTo(positionMs);
  }

  async setVolume(percent: number): Promise<void> {
    this.#player?.setVolume(percent);
  }

  async setEqualizer(bands: readonly EqualizerBand[]): Promise<void> {
    this.#player?.filters.setEqualizer([...bands]);
  }

  async destroy(): Promise<void> {
    this.#player?.disconnect();
    // It sends a pause and the end at once, on two connections: the pause could arrive last and make the player again.
    const rest = this.#manager.nodes.get(NODE)?.rest;
    await vi.waitFor(async () => expect(await rest?.getAllPlayers()).toMatchObject([{ paused: true }]));
    this.#player?.destroy();
  }

  receive(packet: RawPacket): void {
    this.#bot.emit("raw", packet);
  }

  async close(): Promise<void> {
    this.#manager.removeNode(NODE);
  }
}
