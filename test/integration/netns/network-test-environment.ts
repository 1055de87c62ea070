// A test environment across two networks: the real node process with its address blocks in one, a site and the fake
// Discord in the other, which is the test's own. The site records the source address of each request.

import { FakeDiscord } from "../../../lab/discord/fake-discord.ts";
import { countedSong, opusPacket } from "../../../lab/media-files/counted-song.ts";
import { type Answer, plainPlan, statusPlan } from "../../../lab/media-server/answer-plan.ts";
import { type LoggedRequest, MediaServer } from "../../../lab/media-server/media-server.ts";
import { Bot, type LoadView } from "../../../lab/test-environment/bot.ts";
import { MusicCall } from "../../support/music-call.ts";
import { NODE_PASSWORD, RoutedNode, SITE_IPV4, SITE_IPV6 } from "./routed-node.ts";

export interface NetworkTestEnvironmentOptions {
  readonly strategy: "RotateOnBan" | "LoadBalance" | "NanoSwitch" | "RotatingNanoSwitch";
  /** Comma-separated; blocks that test/integration/netns/run.sh routes, or parts of them. */
  readonly ipBlocks: string;
  readonly excludedIps?: readonly string[];
  /** Asked for every request: true lets the site answer 429. */
  readonly isRefused?: (from: string) => boolean;
}

interface PlannerView {
  readonly class: string;
  readonly details: {
    readonly ipBlock: { readonly type: string; readonly size: string };
    readonly failingAddresses: readonly { readonly failingAddress: string }[];
    readonly rotateIndex?: string;
    readonly currentAddress?: string;
    readonly blockIndex?: string;
  };
}

const SHORT_SONG = countedSong({ seconds: 1 });
/** 10 kB/s, sent at twice that while it plays: longer than any test takes, and never fetched far ahead. */
const SONG_PACKET_BYTES = 200;
const LONG_SONG = countedSong({ seconds: 120, packetBytes: SONG_PACKET_BYTES });
/** Except for the first byte, so that each request has received something when its address is banned a second later. */
const SLOW = { kind: "slow", bytesPerSecond: 20_000, afterBytes: 1 } as const;
const SONG_PATH = "/long.ogg";

/** How the site treats the long song. */
interface SongTreatment {
  /** Not while it is loaded: its length is read off its end. */
  isSlow: boolean;
  /** So many requests for it are still to be refused. */
  refusalsDue: number;
  /** The source addresses of refused requests. */
  readonly refused: string[];
}

export class NetworkTestEnvironment {
  readonly discord: FakeDiscord;
  /** Also bans and forgives addresses. */
  readonly media: MediaServer;
  readonly #node: RoutedNode;
  readonly #served: LoggedRequest[];
  readonly #song: SongTreatment;
  readonly #bots: Bot[] = [];
  #loadCount = 0;

  private constructor(parts: {
    readonly discord: FakeDiscord;
    readonly media: MediaServer;
    readonly node: RoutedNode;
    readonly served: LoggedRequest[];
    readonly song: SongTreatment;
  }) {
    this.discord = parts.discord;
    this.media = parts.media;
    this.#node = parts.node;
    this.#served = parts.served;
    this.#song = parts.song;
  }

  static async start({
    strategy,
    ipBlocks,
    excludedIps = [],
    isRefused,
  }: NetworkTestEnvironmentOptions): Promise<NetworkTestEnvironment> {
    const served: LoggedRequest[] = [];
    const song: SongTreatment = { isSlow: false, refusalsDue: 0, refused: [] };
    const answer = (request: LoggedRequest): Answer => {
      if (isRefused?.(request.from) === true) return statusPlan(429);
      if (request.path === SONG_PATH && song.refusalsDue > 0) {
        song.refusalsDue--;
        song.refused.push(request.from);
        return statusPlan(429);
      }
      served.push(request);
      const plan = plainPlan(request.path === SONG_PATH ? LONG_SONG : SHORT_SONG, "audio/ogg");
      return request.path === SONG_PATH && song.isSlow ? { ...plan, fault: SLOW } : plan;
    };
    const node = await RoutedNode.start({
      LAVALINK_SERVER_RATELIMIT_IP_BLOCKS: ipBlocks,
      LAVALINK_SERVER_RATELIMIT_EXCLUDED_IPS: excludedIps.join(","),
      LAVALINK_SERVER_RATELIMIT_STRATEGY: strategy,
    });
    const discord = await FakeDiscord.start({ address: SITE_IPV4 });
    const media = await MediaServer.start({ address: "::", script: answer });
    return new NetworkTestEnvironment({ discord, media, node, served, song });
  }

  async connectBot(): Promise<Bot> {
    const bot = await Bot.connect({ url: this.#node.url, password: NODE_PASSWORD });
    this.#bots.push(bot);
    return bot;
  }

  /** A URL of the site under one of its hosts. */
  url(path: string, host: string): string {
    return `http://${host}:${new URL(this.media.url).port}${path}`;
  }

  /** Loads a song that was not requested before; once more where the ban of its address has cut its connection. */
  async load(bot: Bot, host: string): Promise<LoadView> {
    const url = this.url(`/short.ogg?${this.#loadCount++}`, host);
    const { body } = await bot.load(url);
    if (!JSON.stringify(body).includes("the server dropped the connection")) return body;
    return (await bot.load(url)).body;
  }

  /** Loads so many songs, `atOnce` at a time (default 1: one after the other). Rejects when one fails. */
  async loadMany(bot: Bot, options: { host: string; count: number; atOnce?: number }): Promise<void> {
    const { host, count, atOnce = 1 } = options;
    let left = count;
    const loadOn = async (): Promise<void> => {
      while (left > 0) {
        left--;
        const answer = await this.load(bot, host);
        if (answer.loadType !== "track") throw new Error(`a load failed: ${JSON.stringify(answer)}`);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, loadOn));
  }

  /** The source addresses of the loads that were served, oldest first. */
  get loadSenders(): string[] {
    return this.#served.filter(({ path }) => path !== SONG_PATH).map(({ from }) => from);
  }

  /** The source addresses of all requests, refused ones too, oldest first. */
  get senders(): string[] {
    return this.media.requests.map(({ from }) => from);
  }

  async planner(bot: Bot): Promise<PlannerView> {
    return (await bot.request<PlannerView>("GET", "/v4/routeplanner/status")).body;
  }

  /** The addresses that the planner takes for failing, oldest first. */
  async failing(bot: Bot): Promise<string[]> {
    const { details } = await this.planner(bot);
    return details.failingAddresses.map(({ failingAddress }) => failingAddress.slice(1));
  }

  /** Starts the long song in a separate channel. */
  async playMusic(host: string): Promise<Music> {
    const call = await MusicCall.join(this);
    const encoded = await call.bot.loadEncoded(this.url(SONG_PATH, host));
    this.#song.isSlow = true;
    await call.update({ track: { encoded } });
    await call.receiveMore(50);
    return new Music(call, this.media, this.#song);
  }

  async close(): Promise<void> {
    for (const bot of this.#bots) bot.close();
    const status = await this.#node.close();
    await this.discord.close();
    await this.media.close();
    if (status !== 0) throw new Error(`the node ended with status ${status}`);
  }
}

/** The long song as one listener receives it. */
class Music {
  readonly #call: MusicCall;
  readonly #media: MediaServer;
  readonly #song: SongTreatment;

  constructor(call: MusicCall, media: MediaServer, song: SongTreatment) {
    this.#call = call;
    this.#media = media;
    this.#song = song;
  }

  /**
   * Three times, with a second of music before and after: bans the address that the song is being sent to, in the
   * middle of a body, and refuses the next one that asks for the rest as well. Resolves when a third one is sent it.
   */
  async banThrice(): Promise<void> {
    for (let count = 0; count < 3; count++) {
      await this.#call.receiveMore(50);
      const banned = this.#asker;
      const refusals = this.refused.length;
      const isFound = () => this.refused.length > refusals && ![banned, this.refused.at(-1)].includes(this.#asker);
      this.#song.refusalsDue++;
      this.#media.ban(banned);
      await this.#call.discord.until(isFound, "request for the song from a third address");
    }
    await this.#call.receiveMore(50);
  }

  /** Where the song was asked for last. */
  get #asker(): string {
    return this.#media.requests.findLast(({ path }) => path === SONG_PATH)?.from ?? "";
  }

  /** Addresses that were refused the rest of the song. */
  get refused(): readonly string[] {
    return this.#song.refused;
  }

  /** The observations of the listener and the client. */
  get received(): ReceivedMusic {
    const { audio, channel, eventTypes } = this.#call;
    const isWhole = audio.every(
      ({ opus }, number) => Buffer.compare(opus, opusPacket(number, SONG_PACKET_BYTES)) === 0,
    );
    const silences = channel.listener.received.length - audio.length;
    return { isWhole, silences, eventTypes, refusals: this.#song.refused.length };
  }
}

interface ReceivedMusic {
  /** Every packet so far arrived bit for bit, once and in order. */
  readonly isWhole: boolean;
  /** Frames of silence in between. */
  readonly silences: number;
  readonly eventTypes: readonly string[];
  /** Number of refused requests for the rest of the song. */
  readonly refusals: number;
}

/** Hosts of the site in a URL, by family. */
export const SITE_HOSTS = { 4: SITE_IPV4, 6: `[${SITE_IPV6}]` } as const;
