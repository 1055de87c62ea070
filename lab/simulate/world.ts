// The whole world of one simulation on one clock: the node as it is (node.ts with everything below it), a fake
// Discord, a web site with songs of numbered packets, and a client.

import { loadConfig } from "../../src/config/load-config.ts";
import { readWasmCodec } from "../../src/lib/read-wasm-codec.ts";
import type { WasmCodec } from "../../src/lib/wasm-codec.ts";
import { createLogger, type LogFields, type LogLevel } from "../../src/log.ts";
import { prepareEncryption } from "../../src/media/voice/transport-encryption.ts";
import { createNode, type Node } from "../../src/node.ts";
import { FakeDiscord } from "../discord/fake-discord.ts";
import { countedSong } from "../media-files/counted-song.ts";
import { type Answer, plainPlan } from "../media-server/answer-plan.ts";
import { type LoggedRequest, MediaServer } from "../media-server/media-server.ts";
import type { NodeMessage } from "../stage/bot.ts";
import { SimulatedClient } from "./client.ts";
import { Dice } from "./dice.ts";
import { InProcessThreads } from "./in-process-threads.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { VirtualNetwork } from "./virtual-network.ts";

const PASSWORD = "simulation password";
/** Packets of different songs are told apart by their numbers. */
export const NUMBERS_PER_SONG = 1_000_000;
export const SONG_COUNT = 6;

/** Made before time begins, and shared by all simulations of a process. */
export interface Provisions {
  readonly codecs: ReadonlyMap<string, WasmCodec>;
  readonly songs: readonly Uint8Array[];
}

/** Loads everything that is read, compiled or imported late: in virtual time nothing may wait for the real world. */
export async function provide(songSeconds: number): Promise<Provisions> {
  const songs = Array.from({ length: SONG_COUNT }, (_, index) =>
    countedSong({ seconds: songSeconds, firstNumber: index * NUMBERS_PER_SONG, packetBytes: 60 }),
  );
  const codecs = new Map([["opus", await readWasmCodec("opus")]]);
  await Promise.all([
    prepareEncryption(),
    import("../../src/media/voice/voice-connection.ts"),
    import("../../src/media/input/open-input.ts"),
    import("../../src/media/input/http-client.ts"),
    import("../../src/media/input/playlist.ts"),
    import("../../src/media/opening/open-demuxer.ts"),
  ]);
  return { songs, codecs };
}

export interface LogLine {
  readonly atMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

export interface SimulatedWorldOptions {
  readonly seed: number;
  readonly provisions: Provisions;
  readonly onMessage: (message: NodeMessage) => void;
  /** Asked for every request of the node to the web site. */
  readonly script: (request: LoggedRequest) => Answer | undefined;
}

export class SimulatedWorld {
  readonly clock = new VirtualClock();
  readonly random: Dice;
  readonly network: VirtualNetwork;
  readonly threads: InProcessThreads;
  /** Warnings and errors of the node. */
  readonly lines: LogLine[] = [];
  readonly #options: SimulatedWorldOptions;
  #parts: { node: Node; discord: FakeDiscord; media: MediaServer; client: SimulatedClient } | undefined;

  constructor(options: SimulatedWorldOptions) {
    this.#options = options;
    this.random = new Dice(options.seed);
    const { clock, random } = this;
    this.network = new VirtualNetwork(clock, random.branch());
    const { codecs } = options.provisions;
    this.threads = new InProcessThreads({ clock, random: random.branch(), network: this.network, codecs });
  }

  get discord(): FakeDiscord {
    return this.#open.discord;
  }

  get client(): SimulatedClient {
    return this.#open.client;
  }

  /** The address of a song, with something behind it that tells this use of it from others. */
  songUrl(song: number, mark: string): string {
    return `${this.#open.media.url}/song${song}.ogg?${mark}`;
  }

  /** The port of the voice gateway. */
  get gatewayPort(): number {
    return Number(this.discord.endpoint.split(":").at(-1));
  }

  /** Builds everything, before time begins: the node reads some files of its own. */
  async open(): Promise<void> {
    const { clock, network, threads } = this;
    const { provisions, script, onMessage } = this.#options;
    const discord = await FakeDiscord.start({ clock, network: network.discordNetwork, keepFrames: false });
    const media = await MediaServer.start({
      clock,
      listen: network.listen,
      files: Object.fromEntries(provisions.songs.map((song, index) => [`song${index}.ogg`, song])),
      script,
    });
    const node = await createNode(this.#config(), {
      logger: createLogger((level, message, fields) => this.#onLine(level, message, fields)),
      ground: { clock, threads, random: this.random.branch(), listen: network.listen },
    });
    const client = new SimulatedClient({
      ...{ clock, password: PASSWORD, userId: "100000000000000001", onMessage },
      connect: () => network.connect(node.address.port),
    });
    this.#parts = { node, discord, media, client };
  }

  async close(): Promise<void> {
    const { node, discord, client } = this.#open;
    client.close();
    await node.close();
    await discord.close();
  }

  get #open() {
    if (this.#parts === undefined) throw new Error("the world is not open yet");
    return this.#parts;
  }

  #config() {
    const env = {
      SERVER_PORT: "0",
      LAVALINK_SERVER_PASSWORD: PASSWORD,
      TONEARM_NETWORK_ALLOW: "127.0.0.0/8",
      TONEARM_VOICE_GATEWAY_SCHEME: "ws",
      TONEARM_WORKERS_COUNT: "2",
    };
    return loadConfig({ args: [], cwd: "/nonexistent", env }).config;
  }

  #onLine(level: LogLevel, message: string, fields: LogFields): void {
    if (level === "warn" || level === "error") this.lines.push({ atMs: this.clock.now(), level, message, fields });
  }
}

/** A song that goes wrong after some bytes. */
export function faultyPlan(
  song: Uint8Array,
  fault: { readonly kind: "cut" } | { readonly kind: "stall"; readonly forMs: number },
  afterBytes: number,
): Answer {
  return { ...plainPlan(song, "audio/ogg"), fault: { ...fault, afterBytes } };
}
