// Drives lavalink-client as a bot would.

import { LavalinkManager, type Player, type SearchPlatform, type Track, type VoicePacket } from "lavalink-client";
import type { RawPacket } from "../../../support/fake-shard.ts";
import type {
  ClientBinding,
  EqualizerBand,
  FoundTrack,
  LoadedTrack,
  RealClient,
  SearchedSite,
  SearchingDriver,
} from "../client-driver.ts";

const NODE = "tonearm";
const RESUME_TIMEOUT_S = 60;
/** Enough for a node that is restarted on a busy machine. */
const RETRY_AMOUNT = 600;
/** Undefined: its default. */
const PLATFORMS: Readonly<Record<SearchedSite, SearchPlatform | undefined>> = {
  soundcloud: "scsearch",
  spotify: "spsearch",
  youtube: undefined,
  "youtube music": "ytmsearch",
};

export const lavalinkClient: RealClient<SearchingDriver> = {
  name: "lavalink-client",
  afterDrop: "resumes",
  create: (binding) => new LavalinkClientDriver(binding),
};

class LavalinkClientDriver implements SearchingDriver {
  readonly #binding: ClientBinding;
  readonly #manager: LavalinkManager;
  #player: Player | undefined;
  #track: Track | undefined;

  constructor(binding: ClientBinding) {
    this.#binding = binding;
    const { host, port, password, userId } = binding;
    this.#manager = new LavalinkManager({
      nodes: [{ id: NODE, host, port, authorization: password, retryDelay: 100, retryAmount: RETRY_AMOUNT }],
      sendToShard: (_guildId, payload) => binding.send(payload),
      client: { id: userId, username: "bot" },
    });
    this.#manager.nodeManager.on("error", () => undefined);
    this.#manager.nodeManager.on("connect", (node) => {
      node.options.sessionId = node.sessionId ?? "";
      // Rejects when it has missed the node's `ready`: then the test takes another client.
      node.updateSession(true, RESUME_TIMEOUT_S).then(
        () => binding.report("ready"),
        () => undefined,
      );
    });
    this.#manager.nodeManager.on("resumed", () => binding.report("resumed"));
    this.#manager.on("trackStart", () => binding.report("start"));
    // Emitted instead of `trackEnd` when the queue is empty.
    this.#manager.on("queueEnd", () => binding.report("end"));
    this.#manager.on("trackError", () => binding.report("exception"));
    this.#manager.on("trackStuck", () => binding.report("stuck"));
    this.#manager.on("playerUpdate", () => binding.report("update"));
  }

  async connect(): Promise<void> {
    await this.#manager.init({ id: this.#binding.userId, username: "bot" });
  }

  async sessionId(): Promise<string> {
    return this.#manager.nodeManager.nodes.get(NODE)?.sessionId ?? "";
  }

  async load(url: string): Promise<LoadedTrack> {
    const result = await this.#manager.nodeManager.nodes.get(NODE)?.search({ query: url, source: "http" }, "somebody");
    // Whatever is not a track of the node's fails when it is played.
    this.#track = result?.tracks[0] as Track | undefined;
    return { title: this.#track?.info.title ?? "", lengthMs: this.#track?.info.duration ?? 0 };
  }

  async search(site: SearchedSite, words: string): Promise<FoundTrack> {
    const source = PLATFORMS[site];
    const result = await this.#player?.search({ query: words, ...(source && { source }) }, "somebody");
    // As in `load`.
    this.#track = result?.tracks[0] as Track | undefined;
    const { title = "", sourceName = "", identifier = "" } = this.#track?.info ?? {};
    return { title, sourceName, identifier };
  }

  async join(): Promise<void> {
    const { guildId, channelId } = this.#binding;
    this.#player = this.#manager.createPlayer({ guildId, voiceChannelId: channelId });
    await this.#player.connect();
  }

  async play(): Promise<void> {
    if (this.#track !== undefined) await this.#player?.play({ clientTrack: this.#track });
  }

  async pause(isPaused: boolean): Promise<void> {
    await (isPaused ? this.#player?.pause() : this.#player?.resume());
  }

  async seek(positionMs: number): Promise<void> {
    await this.#player?.seek(positionMs);
  }

  async setVolume(percent: number): Promise<void> {
    await this.#player?.setVolume(percent);
  }

  async setEqualizer(bands: readonly EqualizerBand[]): Promise<void> {
    await this.#player?.filterManager.setEQ([...bands]);
  }

  async destroy(): Promise<void> {
    await this.#player?.destroy();
  }

  receive(packet: RawPacket): void {
    void this.#manager.sendRawData(packet as unknown as VoicePacket); // as a shard gets it
  }

  async close(): Promise<void> {
    this.#manager.nodeManager.nodes.get(NODE)?.destroy();
  }
}
