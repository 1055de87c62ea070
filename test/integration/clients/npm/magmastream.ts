// Drives magmastream as a bot would that uses none of its wrappers.

import { Manager, ManagerEventTypes, type Player, type Track } from "magmastream";
import type { RawPacket } from "../../../support/fake-shard.ts";
import type { ClientBinding, ClientDriver, EqualizerBand, LoadedTrack, RealClient } from "../client-driver.ts";
import { reportReady } from "./report-ready.ts";

const NODE = "tonearm";

export const magmastream: RealClient = {
  name: "magmastream",
  afterDrop: "resumes",
  create: (binding) => new MagmastreamDriver(binding),
};

class MagmastreamDriver implements ClientDriver {
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
      enableSessionResumeOption: true,
      retryDelayMs: 500,
    };
    this.#manager = new Manager({
      nodes: [node],
      playNextOnEnd: true,
      listenToSIGEvents: false,
      send: (packet) => binding.send(packet as unknown as Parameters<ClientBinding["send"]>[0]), // it sends nothing but op 4
      getUser: () => undefined,
      getGuild: () => undefined,
    });
    this.#manager.on(ManagerEventTypes.NodeError, () => undefined);
    this.#manager.on(ManagerEventTypes.NodeRaw, (message) => {
      reportReady(message, binding.report);
      if ((message as { op?: string }).op === "playerUpdate") binding.report("update"); // it has no event for these
    });
    this.#manager.on(ManagerEventTypes.TrackStart, () => binding.report("start"));
    this.#manager.on(ManagerEventTypes.QueueEnd, () => binding.report("end"));
  }

  async connect(): Promise<void> {
    await this.#manager.init({ clientId: this.#binding.userId });
  }

  async sessionId(): Promise<string> {
    return this.#manager.nodes.get(NODE)?.sessionId ?? "";
  }

  async load(url: string): Promise<LoadedTrack> {
    const result = await this.#manager.search(url);
    this.#track = "tracks" in result ? result.tracks[0] : undefined;
    return { title: this.#track?.title ?? "", lengthMs: this.#track?.duration ?? 0 };
  }

  async join(): Promise<void> {
    const { guildId, channelId } = this.#binding;
    const channel = { voiceChannelId: channelId, textChannelId: channelId };
    this.#player = this.#manager.create({ guildId, ...channel, volume: 100 });
    this.#player.connect();
  }

  async play(): Promise<void> {
    if (this.#track !== undefined) await this.#player?.play(this.#track);
  }

  async pause(isPaused: boolean): Promise<void> {
    await this.#player?.pause(isPaused);
  }

  async seek(positionMs: number): Promise<void> {
    await this.#player?.seek(positionMs);
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
    // as a shard gets it
    this.#manager.updateVoiceState(packet as unknown as Parameters<Manager["updateVoiceState"]>[0]);
  }

  async close(): Promise<void> {
    await this.#manager.nodes.get(NODE)?.destroy();
  }
}
