// Drives kazagumo (which stands on shoukaku) as a bot would.

import { Kazagumo, type KazagumoPlayer, type KazagumoTrack } from "kazagumo";
import type { RawPacket, VoiceStateRequest } from "../../../support/fake-shard.ts";
import type { ClientDriver, ClientSeat, EqualizerBand, LoadedTrack, RealClient } from "../client-driver.ts";
import { NODE, SHOUKAKU_OPTIONS, ShardConnector } from "./shard-connector.ts";

export const kazagumo: RealClient = {
  name: "kazagumo",
  afterDrop: "resumes",
  create: (seat) => new KazagumoDriver(seat),
};

class KazagumoDriver implements ClientDriver {
  readonly #seat: ClientSeat;
  readonly #connector: ShardConnector;
  readonly #manager: Kazagumo;
  #player: KazagumoPlayer | undefined;
  #track: KazagumoTrack | undefined;

  constructor(seat: ClientSeat) {
    this.#seat = seat;
    this.#connector = new ShardConnector(seat);
    this.#manager = new Kazagumo(
      { defaultSearchEngine: "youtube", send: (_guildId, payload) => seat.send(payload as VoiceStateRequest) },
      this.#connector,
      [],
      SHOUKAKU_OPTIONS,
    );
    this.#manager.shoukaku.on("error", () => undefined);
    this.#manager.shoukaku.on("ready", (_name, isResumed) => {
      seat.report("ready");
      if (isResumed) seat.report("resumed");
    });
    this.#manager.on("playerStart", () => seat.report("start"));
    this.#manager.on("playerEnd", () => seat.report("end"));
    this.#manager.on("playerUpdate", () => seat.report("update"));
  }

  async connect(): Promise<void> {
    this.#connector.begin();
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
    const { guildId, channelId } = this.#seat;
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
    this.#manager.shoukaku.removeNode(NODE);
  }
}
