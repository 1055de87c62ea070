// The whole world of one simulation on one clock: the node as it is (node.ts with everything below it), a fake
// Discord, a web site with songs of numbered packets, and a client.

import { createLogger, type LogFields, type LogLevel } from "../../src/log/log.ts";
import type { FakeDiscord } from "../discord/fake-discord.ts";
import { countedSong } from "../media-files/counted-song.ts";
import { type Answer, plainPlan } from "../media-server/answer-plan.ts";
import type { LoggedRequest } from "../media-server/media-server.ts";
import type { NodeMessage } from "../test-environment/bot.ts";
import { TEST_PASSWORD, TestEnvironment } from "../test-environment/test-environment.ts";
import { SimulatedClient } from "./client.ts";
import type { Dice } from "./dice.ts";
import type { InProcessThreads } from "./in-process-threads.ts";
import type { VirtualClock } from "./virtual-clock.ts";
import { type Codecs, prepareCodecs, VirtualEnvironment } from "./virtual-environment.ts";
import { FAR, type VirtualNetwork } from "./virtual-network.ts";

/** Packets of different songs are distinguished by their numbers. */
export const NUMBERS_PER_SONG = 1_000_000;
export const SONG_COUNT = 6;

/** Made before time begins, and shared by all simulations of a process. */
export interface Provisions {
  readonly codecs: Codecs;
  readonly songs: readonly Uint8Array[];
}

export async function provide(songSeconds: number): Promise<Provisions> {
  const songs = Array.from({ length: SONG_COUNT }, (_, index) =>
    countedSong({ seconds: songSeconds, firstNumber: index * NUMBERS_PER_SONG, packetBytes: 60 }),
  );
  return { songs, codecs: await prepareCodecs() };
}

interface LogLine {
  readonly atMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

interface SimulatedWorldOptions {
  readonly seed: number;
  readonly provisions: Provisions;
  readonly onMessage: (message: NodeMessage) => void;
  /** Asked for every request of the node to the web site. */
  readonly script: (request: LoggedRequest) => Answer | undefined;
}

export class SimulatedWorld {
  /** Warnings and errors of the node. */
  readonly lines: LogLine[] = [];
  readonly #environment: VirtualEnvironment;
  readonly #options: SimulatedWorldOptions;
  #parts: { readonly env: TestEnvironment; readonly client: SimulatedClient } | undefined;

  constructor(options: SimulatedWorldOptions) {
    this.#options = options;
    this.#environment = new VirtualEnvironment({ seed: options.seed, codecs: options.provisions.codecs, latency: FAR });
  }

  get clock(): VirtualClock {
    return this.#environment.clock;
  }

  get random(): Dice {
    return this.#environment.random;
  }

  get network(): VirtualNetwork {
    return this.#environment.network;
  }

  get threads(): InProcessThreads {
    return this.#environment.threads;
  }

  get discord(): FakeDiscord {
    return this.#open.env.discord;
  }

  get client(): SimulatedClient {
    return this.#open.client;
  }

  /** The address of a song, ending in a tag that distinguishes this use of it from others. */
  songUrl(song: number, tag: string): string {
    return `${this.#open.env.media.url}/song${song}.ogg?${tag}`;
  }

  /** The port of the voice gateway. */
  get gatewayPort(): number {
    return Number(this.discord.endpoint.split(":").at(-1));
  }

  /** Builds everything, before virtual time begins: the node reads some files. */
  async open(): Promise<void> {
    const environment = this.#environment;
    const { provisions, script, onMessage } = this.#options;
    const env = await TestEnvironment.start({
      environment,
      config: { TONEARM_WORKERS_COUNT: "2" },
      discord: { keepFrames: false },
      media: { files: Object.fromEntries(provisions.songs.map((song, index) => [`song${index}.ogg`, song])), script },
      logger: createLogger((level, message, fields) => this.#onLine(level, message, fields)),
    });
    const client = new SimulatedClient({
      clock: environment.clock,
      password: TEST_PASSWORD,
      userId: "100000000000000001",
      onMessage,
      connect: () => environment.connect(env.node.address.port),
    });
    this.#parts = { env, client };
  }

  async close(): Promise<void> {
    const { env, client } = this.#open;
    client.close();
    await env.close();
  }

  get #open() {
    if (this.#parts === undefined) throw new Error("the world is not open yet");
    return this.#parts;
  }

  #onLine(level: LogLevel, message: string, fields: LogFields): void {
    if (level === "warn" || level === "error") this.lines.push({ atMs: this.clock.now(), level, message, fields });
  }
}

/** A song that goes wrong after some bytes. */
export function faultyPlan(
  song: Uint8Array,
  fault: { readonly kind: "cut" } | { readonly kind: "stall"; readonly forMs: number; readonly onBegun: () => void },
  afterBytes: number,
): Answer {
  return { ...plainPlan(song, "audio/ogg"), fault: { ...fault, afterBytes } };
}
