// Drives kazagumo (which stands on shoukaku) as a bot would.

import { Kazagumo, type KazagumoPlayer, type KazagumoTrack } from "kazagumo";
import type { RawPacket, VoiceStateRequest } from "../../../support/fake-shard.ts";
import type { ClientBinding, ClientDriver, EqualizerBand, LoadedTrack, RealClient } from "../client-driver.ts";
import { NODE, SHOUKAKU_OPTIONS, ShardConnector } from "./shard-connector.ts";

export const kazagumo: RealClient = {
  name: "kazagumo",
  afterDrop: "resumes",
  create: (binding) => new KazagumoDriver(binding),
};

class KazagumoDriver implements ClientDriver {
  readonly #binding: ClientBinding;
  readonly #connector: ShardConnector;
  readonly #manager: Kazagumo;
  #player: KazagumoPlayer | undefined;
  #track: KazagumoTrack | undefined;

  constructor(binding: ClientBinding) {
    this.#binding = binding;
    this.#connector = new ShardConnector(binding);
    this.#manager = new Kazagumo(
      { defaultSearchEngine: "youtube", send: (_guildId, payload) => binding.send(payload as VoiceStateRequest) },
      this.#connector,
      [],
      SHOUKAKU_OPTIONS,
    );
    this.#manager.shoukaku.on("error", () => undefined);
    this.#manager.shoukaku.on("ready", (_name, isResumed) => {
      binding.report("ready");
      if (isResumed) binding.report("resumed");
    });
    this.#manager.on("playerStart", () => binding.report("start"));
    this.#manager.on("playerEnd", () => binding.report("end"));
    this.#manager.on("playerUpdate", () => binding.report("update"));
  }

  async connect(): Promise<void> {
    this.#connector.begin();
    this.#manager.shoukaku.nodes.get(NODE)?.once("disconnect", () => this.#binding.report("lost"));
  }

  async sessionId(): Promise<string> {
    return this.#manager.shoukaku.nodes.get(NODE)?.sessionId ?? "";
  }

  async load(url: string): Promise<LoadedTrack> {
    const { tracks } = await this.#manager.search(url, { requester: undefined });
    this.#track = tracks[0];
    return { title: this.#track?.title ?? "", lengthMs: this.#track?.length ?? 0 };
  }

  async join(): Promise<void> {
    const { guildId, channelId } = this.#binding;
    this.#player = await this.#manager.createPlayer({ guildId, voiceId: channelId, textId: channelId, volume: 100 });
  }

  async play(): Promise<void> {
    await this.#player?.play(this.#track);
  }

  async pause(isPaused: boolean): Promise<void> {
    this.#player?.pause(isPaused);
  }

  async seek(positionMs: number): Promise<void> {
    await this.#player?.seek(positionMs);
  }

  async setVolume(percent: number): Promise<void> {
    await this.#player?.setVolume(percent);
  }

  async setEqualizer(bands: readonly EqualizerBand[]): Promise<void> {
    await this.#player?.shoukaku.setEqualizer([...bands]);
  }

  async destroy(): Promise<void> {
    await this.#player?.destroy();
  }

  receive(packet: RawPacket): void {
    this.#connector.receive(packet);
  }

  async close(): Promise<void> {
    if (this.#manager.shoukaku.nodes.has(NODE)) this.#manager.shoukaku.removeNode(NODE);
  }
}
