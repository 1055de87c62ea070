// A bot of the chaos lab: a session with many players that connects again whenever its connection ends, as client
// libraries do, and what it was told on all of its connections. Lab only.

import type { Balancer } from "../cluster/balancer.ts";
import { ClusterBot } from "../cluster/cluster-bot.ts";
import { Jukebox } from "../cluster/jukebox.ts";
import type { Machine } from "../cluster/machines.ts";
import type { CastPlayer } from "../restart/cast.ts";
import { assemble } from "../restart/crowd.ts";
import type { Surroundings } from "../restart/surroundings.ts";
import { sleep } from "../sleep.ts";
import type { Bot, NodeMessage } from "../test-environment/bot.ts";
import { Guest } from "./guest.ts";
import { Tuner } from "./tuner.ts";

export interface ChaosBotOptions {
  readonly surroundings: Surroundings;
  readonly balancer: Balancer<Machine>;
  readonly number: number;
  readonly cast: readonly CastPlayer[];
  /** Guilds that play short songs. */
  readonly jukeboxGuilds: readonly string[];
  /** Guilds whose players come and go. */
  readonly guestGuilds: readonly string[];
  readonly random: () => number;
}

const ATTEND_MS = 40;
const FOREVER_MS = 2 ** 31 - 1;
const POLL_MS = 50;

export class ChaosBot {
  readonly cast: readonly CastPlayer[];
  readonly jukeboxes: readonly Jukebox[];
  readonly guests: readonly Guest[];
  readonly tuners: readonly Tuner[];
  /** Events of its cast since `start`. */
  readonly told: NodeMessage[] = [];
  /** From the end of a connection to the next `ready`. */
  readonly returnsMs: number[] = [];
  /** Attempts to connect that failed, by reason. */
  readonly failures: string[] = [];
  readonly losses: string[] = [];
  readonly #bot: ClusterBot;
  readonly #guildIds: ReadonlySet<string>;
  #readFrom: Bot;
  #readCount = 0;
  #isConnected = true;
  #hasSession = true;
  #isClosed = false;
  #attending: NodeJS.Timeout | undefined;

  private constructor(bot: ClusterBot, parts: Pick<ChaosBot, "jukeboxes" | "guests">, random: () => number) {
    this.#bot = bot;
    this.#readFrom = bot.bot;
    this.cast = bot.cast;
    this.jukeboxes = parts.jukeboxes;
    this.guests = parts.guests;
    this.#guildIds = new Set(bot.cast.map(({ guildId }) => guildId));
    // Their songs are decoded anyway.
    const tuned = bot.cast.filter(({ isCounted, rate }) => !isCounted && rate === 1);
    this.tuners = tuned.map(({ guildId }) => new Tuner(guildId, random));
  }

  /** All of its players play. Its machine is one after the other by its number, as long as all are well. */
  static async open(options: ChaosBotOptions): Promise<ChaosBot> {
    const { surroundings, balancer, number, cast, jukeboxGuilds, guestGuilds, random } = options;
    balancer.only(...balancer.machines.slice(number % balancer.machines.length).slice(0, 1));
    const bot = await ClusterBot.open(balancer, number, cast);
    balancer.all();
    await assemble(bot.bot, surroundings, cast);
    // Those that come later are wrong.
    for (const { guildId } of cast) await bot.bot.until(isStartOf(guildId), `the start of player ${guildId}`);
    const jukeboxes = jukeboxGuilds.map((guildId) => new Jukebox(guildId, surroundings));
    for (const jukebox of jukeboxes) await jukebox.begin(bot.bot);
    const guests = guestGuilds.map((guildId) => new Guest(guildId, surroundings, random));
    for (const guest of guests) await guest.prepare(bot.bot);
    return new ChaosBot(bot, { jukeboxes, guests }, random);
  }

  /** Its current connection, or the last one while it has none. */
  get bot(): Bot {
    return this.#bot.bot;
  }

  get userId(): string {
    return this.#bot.userId;
  }

  /** Whether it still has the session that it began with. */
  get hasSession(): boolean {
    return this.#hasSession;
  }

  /** From now on it connects again, and asks for songs and changes. */
  start(): void {
    this.#readFrom = this.bot;
    this.#readCount = this.bot.messages.length;
    this.#attending = setInterval(() => this.#attend(), ATTEND_MS);
    for (const part of [...this.tuners, ...this.guests]) part.start(() => this.bot);
    void this.#stayConnected();
  }

  /** Ends the changes and the visits; songs go on. */
  async settle(): Promise<void> {
    await Promise.all([...this.tuners, ...this.guests].map((part) => part.stop()));
  }

  /** Whether it has its `ready`, at the latest after that time. */
  async untilConnected(timeoutMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + timeoutMs;
    while (!this.#isConnected && performance.now() < deadlineMs) await sleep(POLL_MS);
    return this.#isConnected;
  }

  /** Nothing is asked for any more: the songs of its jukeboxes end. */
  async fallSilent(): Promise<void> {
    clearInterval(this.#attending);
    await Promise.all(this.jukeboxes.map((jukebox) => jukebox.settle()));
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#attending);
    this.#bot.close();
  }

  async #stayConnected(): Promise<void> {
    for (;;) {
      const hasEnded = await this.bot.closed(FOREVER_MS).then(
        () => true,
        () => false, // the bot is closed
      );
      if (!hasEnded || this.#isClosed) return;
      this.#isConnected = false;
      this.#attend();
      for (const part of [...this.jukeboxes, ...this.guests]) part.processEnded();
      const endedMs = performance.now();
      try {
        const { isResumed, failures } = await this.#bot.comeBack();
        this.failures.push(...failures);
        this.returnsMs.push(performance.now() - endedMs);
        if (!isResumed) this.#loseSession();
      } catch (error) {
        this.losses.push(`bot ${this.userId}: ${error instanceof Error ? error.message : String(error)}`);
        return;
      }
      this.#isConnected = true;
    }
  }

  /** It was told so, and what it had is gone. */
  #loseSession(): void {
    this.#hasSession = false;
    this.losses.push(`the session of bot ${this.userId} was not resumed`);
    for (const part of [...this.jukeboxes, ...this.guests]) part.forget();
  }

  #attend(): void {
    const { bot } = this;
    if (bot !== this.#readFrom) this.#readCount = 0;
    this.#readFrom = bot;
    const news = bot.messages.slice(this.#readCount);
    this.#readCount = bot.messages.length;
    this.told.push(...news.filter(({ op, guildId = "" }) => op === "event" && this.#guildIds.has(guildId)));
    if (this.#hasSession) for (const part of [...this.jukeboxes, ...this.guests]) part.attend(bot);
  }
}

function isStartOf(guild: string): (message: NodeMessage) => boolean {
  return ({ type, guildId }) => type === "TrackStartEvent" && guildId === guild;
}
