// Drives riffy as a bot would. For most calls riffy reports neither the response nor a failure, so the driver waits for
// the response: closing the connection earlier would end in an unhandled rejection.

import { once } from "node:events";
import { type Player, Riffy, type Track } from "riffy";
import type { RawPacket } from "../../../support/fake-shard.ts";
import type { ClientBinding, ClientDriver, EqualizerBand, LoadedTrack, RealClient } from "../client-driver.ts";
import { reportReady } from "./report-ready.ts";

const NODE = "tonearm";
/** Enough for a node that is restarted on a busy machine; a success does not reset the count. */
const RECONNECT_TRIES = 600;
const ANSWER_WAIT_MS = 20_000;

export const riffy: RealClient = { name: "riffy", afterDrop: "resumes", create: (binding) => new RiffyDriver(binding) };

class RiffyDriver implements ClientDriver {
  readonly #binding: ClientBinding;
  readonly #manager: Riffy;
  #player: Player | undefined;
  #track: Track | undefined;

  constructor(binding: ClientBinding) {
    this.#binding = binding;
    const node = { name: NODE, host: binding.host, port: binding.port, password: binding.password, secure: false };
    const bypassChecks = { nodeFetchInfo: false };
    this.#manager = new Riffy({}, [node], {
      restVersion: "v4",
      reconnectTimeout: 100,
      reconnectTries: RECONNECT_TRIES,
      bypassChecks,
      send: binding.send,
    });
    this.#manager.on("nodeError", () => undefined);
    this.#manager.on("raw", (_from, message) => reportReady(message, binding.report));
    this.#manager.on("trackStart", () => binding.report("start"));
    this.#manager.on("queueEnd", () => binding.report("end"));
    this.#manager.on("playerUpdate", () => binding.report("update"));
  }

  async connect(): Promise<void> {
    this.#manager.init(this.#binding.userId);
  }

  async sessionId(): Promise<string> {
    return this.#manager.nodeMap.get(NODE)?.sessionId ?? "";
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
    await this.#untilAnswered(() => this.#player?.pause(isPaused));
  }

  async seek(positionMs: number): Promise<void> {
    await this.#untilAnswered(() => this.#player?.seek(positionMs));
  }

  async setVolume(percent: number): Promise<void> {
    await this.#untilAnswered(() => this.#player?.setVolume(percent));
  }

  async setEqualizer(bands: readonly EqualizerBand[]): Promise<void> {
    await this.#untilAnswered(() => this.#player?.filters.setEqualizer([...bands]));
  }

  async destroy(): Promise<void> {
    await this.#untilAnswered(() => this.#player?.destroy());
  }

  receive(packet: RawPacket): void {
    this.#manager.updateVoiceState(packet);
  }

  async close(): Promise<void> {
    this.#manager.nodeMap.get(NODE)?.destroy();
  }

  async #untilAnswered(ask: () => unknown): Promise<void> {
    const answered = once(this.#manager, "apiResponse", { signal: AbortSignal.timeout(ANSWER_WAIT_MS) });
    ask();
    await answered;
  }
}
