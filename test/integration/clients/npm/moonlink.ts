// Drives moonlink.js as a bot would.

import { Manager, type Player, type Track } from "moonlink.js";
import type { RawPacket, VoiceStateRequest } from "../../../support/fake-shard.ts";
import type { ClientBinding, ClientDriver, EqualizerBand, LoadedTrack, RealClient } from "../client-driver.ts";

const NODE = "tonearm";

export const moonlink: RealClient = {
  name: "moonlink.js",
  afterDrop: "resumes",
  create: (binding) => new MoonlinkDriver(binding),
};

class MoonlinkDriver implements ClientDriver {
  readonly #binding: ClientBinding;
  readonly #manager: Manager;
  #player: Player | undefined;
  #track: Track | undefined;

  constructor(binding: ClientBinding) {
    this.#binding = binding;
    const node = {
      identifier: NODE,
      host: binding.host,
      port: binding.port,
      password: binding.password,
      secure: false,
    };
    this.#manager = new Manager({
      nodes: [node],
      options: { resume: true, playerHealth: { resumeDebounce: 0 } },
      send: (_guildId, payload: VoiceStateRequest) => binding.send(payload),
    });
    this.#manager.on("nodeError", () => undefined);
    this.#manager.on("nodeReady", () => binding.report("ready"));
    this.#manager.on("nodeResume", () => binding.report("resumed"));
    this.#manager.on("trackStart", () => binding.report("start"));
    this.#manager.on("trackEnd", () => binding.report("end"));
    this.#manager.on("playerUpdate", () => binding.report("update"));
  }

  async connect(): Promise<void> {
    await this.#manager.init(this.#binding.userId);
  }

  async sessionId(): Promise<string> {
    return this.#manager.nodes.nodes.get(NODE)?.sessionId ?? "";
  }

  async load(url: string): Promise<LoadedTrack> {
    const { tracks } = await this.#manager.search({ query: url });
    this.#track = tracks[0];
    return { title: this.#track?.title ?? "", lengthMs: this.#track?.duration ?? 0 };
  }

  async join(): Promise<void> {
    const { guildId, channelId } = this.#binding;
    this.#player = this.#manager.players.create({ guildId, voiceChannelId: channelId, textChannelId: channelId });
    await this.#player.connect();
  }

  async play(): Promise<void> {
    if (this.#track !== undefined) await this.#player?.play(this.#track);
  }

  async pause(isPaused: boolean): Promise<void> {
    await (isPaused ? this.#player?.pause() : this.#player?.resume());
  }

  async seek(positionMs: number): Promise<void> {
    await this.#player?.seek(positionMs);
  }

  async setVolume(percent: number): Promise<void> {
    this.#player?.setVolume(percent);
  }

  async setEqualizer(bands: readonly EqualizerBand[]): Promise<void> {
    await this.#player?.filters.setEqualizer([...bands]).apply();
  }

  async destroy(): Promise<void> {
    await this.#player?.destroy();
  }

  receive(packet: RawPacket): void {
    this.#manager.packetUpdate(packet);
  }

  /** Its database would go on to write into the folder the bot was started in, also once that is gone. */
  async close(): Promise<void> {
    await this.#manager.nodes.nodes.get(NODE)?.destroy();
    await this.#manager.database?.shutdown();
  }
}
