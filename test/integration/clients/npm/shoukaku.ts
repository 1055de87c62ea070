// Drives shoukaku as a bot would.

import { LoadType, type Player, Shoukaku, type Track } from "shoukaku";
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
import { NODE, SHOUKAKU_OPTIONS, ShardConnector } from "./shard-connector.ts";

/** It leaves prefixes to its bot. */
const PREFIXES: Readonly<Record<SearchedSite, string>> = {
  soundcloud: "scsearch:",
  spotify: "spsearch:",
  youtube: "ytsearch:",
  "youtube music": "ytmsearch:",
};

export const shoukaku: RealClient<SearchingDriver> = {
  name: "shoukaku",
  afterDrop: "resumes",
  create: (binding) => new ShoukakuDriver(binding),
};

/** Of a bot that lets a node that shoukaku has dropped connect again. */
export const repeatedShoukaku: RealClient<SearchingDriver> = {
  name: "shoukaku, connected again by its bot,",
  afterDrop: "resumes",
  create: (binding) => new ShoukakuDriver(binding, { isRepeated: true }),
};

class ShoukakuDriver implements SearchingDriver {
  readonly #binding: ClientBinding;
  readonly #connector: ShardConnector;
  readonly #manager: Shoukaku;
  readonly #isRepeated: boolean;
  #isClosed = false;
  #player: Player | undefined;
  #track: Track | undefined;

  constructor(binding: ClientBinding, { isRepeated = false } = {}) {
    this.#binding = binding;
    this.#isRepeated = isRepeated;
    this.#connector = new ShardConnector(binding);
    this.#manager = new Shoukaku(this.#connector, [], SHOUKAKU_OPTIONS);
    this.#manager.on("error", () => undefined);
    this.#manager.on("ready", (_name, isResumed) => {
      binding.report("ready");
      if (isResumed) binding.report("resumed");
    });
  }

  async connect(): Promise<void> {
    this.#connector.begin();
    const node = this.#manager.nodes.get(NODE);
    node?.on("disconnect", () => {
      this.#binding.report("lost");
      if (!this.#isRepeated || this.#isClosed) return;
      this.#manager.nodes.set(NODE, node);
      node.connect().catch(() => undefined); // reported as another `disconnect`
    });
  }

  async sessionId(): Promise<string> {
    return this.#manager.nodes.get(NODE)?.sessionId ?? "";
  }

  async load(url: string): Promise<LoadedTrack> {
    const result = await this.#manager.nodes.get(NODE)?.rest.resolve(url);
    this.#track = result?.loadType === LoadType.TRACK ? result.data : undefined;
    return { title: this.#track?.info.title ?? "", lengthMs: this.#track?.info.length ?? 0 };
  }

  async search(site: SearchedSite, words: string): Promise<FoundTrack> {
    const result = await this.#player?.node.rest.resolve(PREFIXES[site] + words);
    this.#track = result?.loadType === LoadType.SEARCH ? result.data[0] : undefined;
    const { title = "", sourceName = "", identifier = "" } = this.#track?.info ?? {};
    return { title, sourceName, identifier };
  }

  async join(): Promise<void> {
    const { guildId, channelId, report } = this.#binding;
    this.#player = await this.#manager.joinVoiceChannel({ guildId, channelId, shardId: 0 });
    this.#player.on("start", () => report("start"));
    this.#player.on("end", () => report("end"));
    this.#player.on("update", () => report("update"));
    this.#player.on("exception", () => report("exception"));
    this.#player.on("stuck", () => report("stuck"));
  }

  async play(): Promise<void> {
    if (this.#track !== undefined) await this.#player?.playTrack({ track: { encoded: this.#track.encoded } });
  }

  async pause(isPaused: boolean): Promise<void> {
    await this.#player?.setPaused(isPaused);
  }

  async seek(positionMs: number): Promise<void> {
    await this.#player?.seekTo(positionMs);
  }

  async setVolume(percent: number): Promise<void> {
    await this.#player?.setGlobalVolume(percent);
  }

  async setEqualizer(bands: readonly EqualizerBand[]): Promise<void> {
    await this.#player?.setEqualizer([...bands]);
  }

  async destroy(): Promise<void> {
    await this.#manager.leaveVoiceChannel(this.#binding.guildId);
  }

  receive(packet: RawPacket): void {
    this.#connector.receive(packet);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#manager.nodes.has(NODE)) this.#manager.removeNode(NODE);
  }
}
