// The environment of a node and its surroundings in virtual time: one clock, one source of randomness, a network and
// threads of one process.

import { readWasmCodec, type WasmCodecName } from "../../src/lib/read-wasm-codec.ts";
import type { WasmCodec } from "../../src/lib/wasm-codec.ts";
import { prepareEncryption } from "../../src/media/pacer/transport-encryption.ts";
import type { TestNodeEnvironment } from "../test-environment/test-environment.ts";
import { Dice } from "./dice.ts";
import { InProcessThreads } from "./in-process-threads.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { type Latency, VirtualNetwork } from "./virtual-network.ts";

/** Loaded before virtual time begins, by name; shared by all simulations of a process. */
export type Codecs = ReadonlyMap<string, WasmCodec>;

/** All but AAC, whose decoder has separate threads. */
const CODEC_NAMES: readonly WasmCodecName[] = ["opus", "mp3", "vorbis", "flac"];

/** Loads everything that is compiled or imported late: in virtual time nothing may wait for the real world. */
export async function prepareCodecs(): Promise<Codecs> {
  const codecs = await Promise.all(CODEC_NAMES.map(async (name) => [name, await readWasmCodec(name)] as const));
  await Promise.all([
    prepareEncryption(),
    import("../../src/media/voice/connection/voice-connection.ts"),
    import("../../src/media/input/open-input.ts"),
    import("../../src/media/input/http-client.ts"),
    import("../../src/network/outgoing-routes.ts"),
    import("../../src/media/input/playlist.ts"),
    import("../../src/media/probe/open-demuxer.ts"),
    import("../../src/media/opus-cache/opus-cache.ts"),
    import("../../src/media/demux/hls/hls-demuxer.ts"),
    import("../../src/media/decode/opus-decoder.ts"),
    import("../../src/media/decode/mp3-decoder.ts"),
    import("../../src/media/decode/vorbis-decoder.ts"),
    import("../../src/media/decode/flac-decoder.ts"),
    import("../../src/media/decode/pcm-decoder.ts"),
    import("../../src/media/decode/alac-decoder.ts"),
  ]);
  return new Map(codecs);
}

interface VirtualEnvironmentOptions {
  readonly seed: number;
  readonly codecs: Codecs;
  readonly latency: Latency;
}

export class VirtualEnvironment implements TestNodeEnvironment {
  readonly clock = new VirtualClock();
  readonly random: Dice;
  readonly network: VirtualNetwork;
  readonly threads: InProcessThreads;

  constructor({ seed, codecs, latency }: VirtualEnvironmentOptions) {
    this.random = new Dice(seed);
    const { clock, random } = this;
    this.network = new VirtualNetwork(clock, random.branch(), latency);
    this.threads = new InProcessThreads({ clock, random: random.branch(), network: this.network, codecs });
  }

  get listen(): TestNodeEnvironment["listen"] {
    return this.network.listen;
  }

  get discordNetwork(): TestNodeEnvironment["discordNetwork"] {
    return this.network.discordNetwork;
  }

  readonly connect: TestNodeEnvironment["connect"] = (port) => this.network.connect(port);
}
