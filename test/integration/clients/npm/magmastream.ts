// Drives magmastream as a bot would that uses none of its wrappers.

import { Manager, ManagerEventTypes, type Player, type Track } from "magmastream";
import type { RawPacket } from "../../../support/fake-shard.ts";
import type { ClientDriver, ClientSeat, EqualizerBand, LoadedTrack, RealClient } from "../client-driver.ts";
import { reportReady } from "./report-ready.ts";

const NODE = "tonearm";

export const magmastream: RealClient = {
  name: "magmastream",
  afterDrop: "resumes",
  create: (seat) => new MagmastreamDriver(seat),
};

class MagmastreamDriver implements ClientDriver {
  readonly #seat: ClientSeat;
  readonly #manager: Manager;
  #player: Player | undefined;
  #track: Track | undefined;

  constructor(seat: ClientSeat) {
    this.#seat = seat;
    const node = {
      identifier: NODE,
      host: seat.host,
      port: seat.port,
      password: seat.password,
      enableSessionResumeOption: true,
      retryDelayMs: 500,
    };
    this.#manager = new Manager({
      nodes: [node],
      playNextOnEnd: true,
      listenToSIGEvents: false,
      send: (packet) => seat.send(packet as unknown as Parameters<ClientSeat["send"]>[0]), // it sends nothing but op 4
      getUser: () => undefined,
      getGuild: () => undefined,
    });
    this.#manager.on(ManagerEventTypes.NodeError, () => undefined);
    this.#manager.on(ManagerEventTypes.NodeRaw, (message) => {
      reportReady(message, seat.report);
      if ((message as { op?: string }).op === "playerUpdate") seat.report("update"); // it has no event for these
    });
    this.#manager.on(ManagerEventTypes.TrackStart, () => seat.report("start"));
    this.#manager.on(ManagerEventTypes.QueueEnd, () => seat.report("end"));
  }

  async connect(): Promise<void> {
    await this.#manager.init({ clientId: this.#seat.userId });
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
    const { guildId, channelId } = this.#seat;
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
