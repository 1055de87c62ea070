// Drives lavacord as a bot would. Its socket begins to read a moment after the answer to the handshake, so `ready` must
// not come with that. It reconnects with the headers of its first connection, so it cannot resume a session.

import { Manager, type Player, Rest } from "lavacord";
import type { RawPacket, VoiceStateRequest } from "../../../support/fake-shard.ts";
import type { ClientBinding, ClientDriver, EqualizerBand, LoadedTrack, RealClient } from "../client-driver.ts";
import { reportReady } from "./report-ready.ts";

const NODE = "tonearm";
const RECONNECT_INTERVAL_MS = 500;

/** Of Node.js 22, which the library declares; it is all that it lacks on 20, but for `Manager.connect`. */
Object.assign(Promise, {
  withResolvers: () => {
    const made: { promise?: unknown; resolve?: unknown; reject?: unknown } = {};
    made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
    return made;
  },
});

export const lavacord: RealClient = {
  name: "lavacord",
  afterDrop: "gives up",
  create: (binding) => new LavacordDriver(binding),
};

class LavacordDriver implements ClientDriver {
  readonly #binding: ClientBinding;
  readonly #manager: Manager;
  #player: Player | undefined;
  #encoded = "";

  constructor(binding: ClientBinding) {
    this.#binding = binding;
    const { host, port, password, userId } = binding;
    this.#manager = new Manager([{ id: NODE, host, port, password, reconnectInterval: RECONNECT_INTERVAL_MS }], {
      userId,
      send: (packet) => binding.send(packet as VoiceStateRequest), // it sends no other payload
    });
    this.#manager.on("error", () => undefined);
    this.#manager.on("raw", (message) => reportReady(message, binding.report));
  }

  /** `Manager.connect` needs the iterators of Node.js 22, and connects each node just so. */
  async connect(): Promise<void> {
    await this.#node().connect();
  }

  async sessionId(): Promise<string> {
    return this.#node().sessionId ?? "";
  }

  async load(url: string): Promise<LoadedTrack> {
    const result = await Rest.load(this.#node(), url);
    if (result.loadType !== "track") throw new Error(`loading returned ${result.loadType}`);
    const { encoded, info } = result.data;
    this.#encoded = encoded;
    return { title: info.title, lengthMs: info.length };
  }

  async join(): Promise<void> {
    const { guildId, channelId, report } = this.#binding;
    this.#player = await this.#manager.join({ guild: guildId, channel: channelId, node: NODE });
    this.#player.on("trackStart", () => report("start"));
    this.#player.on("trackEnd", () => report("end"));
    this.#player.on("state", () => report("update"));
  }

  async play(): Promise<void> {
    await this.#player?.play(this.#encoded);
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
    await this.#player?.setEqualizer([...bands]);
  }

  async destroy(): Promise<void> {
    await this.#manager.leave(this.#binding.guildId);
  }

  receive({ t, d }: RawPacket): void {
    if (t === "VOICE_SERVER_UPDATE") void this.#manager.voiceServerUpdate(d as never); // as Discord sends it
    if (t === "VOICE_STATE_UPDATE") void this.#manager.voiceStateUpdate(d as never); // as Discord sends it
  }

  async close(): Promise<void> {
    await this.#manager.disconnect();
  }

  #node() {
    const node = this.#manager.nodes.get(NODE);
    if (node === undefined) throw new Error("the library has lost its node");
    return node;
  }
}
