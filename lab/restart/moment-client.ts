// The client of the moments: a session with a few guilds, their connections for requests, and the session's setting for
// resuming, which may be off for a while. Lab only.

import { sleep } from "../sleep.ts";
import type { Bot, PlayerView } from "../test-environment/bot.ts";
import { MomentGuild } from "./moment-guild.ts";
import { type NodeRuns, RESTART_PASSWORD } from "./node-runs.ts";
import { PipelinedConnection } from "./pipelined-connection.ts";
import { COUNTED_SONG, connectBot, isResumed, SHORT_SONG, type Surroundings } from "./surroundings.ts";

interface MomentClientOptions {
  readonly surroundings: Surroundings;
  readonly runs: NodeRuns;
  readonly random: () => number;
  readonly note: (line: string) => void;
}

const GUILDS = 8;
const FIRST_GUILD = 300_001;
const ASKED_AT_ONCE_MAX = 4;
const RESUMING_OFF_SHARE = 0.015;
const RESUMING_ON_SHARE = 0.3;
const END_SOON_MS_MAX = 1500;
/** Events wait until they are stored: a little more than the node lets them. */
const HELD_MS_MAX = 300;
const SETTLE_MS_MAX = 6000;
const SETTLE_MS_MIN = 250;
const POLL_MS = 50;
const TIMEOUT_SECONDS = 60;
const ANSWER_MS_MAX = 15_000;

export class MomentClient {
  readonly #options: MomentClientOptions;
  readonly #guilds: ReadonlyMap<string, MomentGuild>;
  #bot: Bot;
  #readCount = 0;
  #connections = new Map<string, PipelinedConnection>();
  /** The possible settings: as answered, then those that were asked for and not answered. */
  #resuming: boolean[] = [];
  #endedMs = 0;
  #isAway = false;

  private constructor(
    options: MomentClientOptions,
    bot: Bot,
    songs: { readonly long: string; readonly short: string },
  ) {
    this.#options = options;
    this.#bot = bot;
    let number = 0;
    const guildIds = Array.from({ length: GUILDS }, (_, index) => String(FIRST_GUILD + index));
    const { random, note, surroundings } = options;
    const nextNumber = (): number => ++number;
    this.#guilds = new Map(
      guildIds.map((guildId) => {
        const issueVoice = (): ReturnType<Surroundings["issueVoice"]> => surroundings.issueVoice(guildId);
        return [guildId, new MomentGuild({ guildId, note, sources: { random, nextNumber, songs, issueVoice } })];
      }),
    );
  }

  /** With a new session on a node that listens. */
  static async open(options: MomentClientOptions): Promise<MomentClient> {
    const bot = await connectBot(options.runs);
    const { surroundings } = options;
    const long = await bot.loadEncoded(surroundings.urlOf(COUNTED_SONG));
    const short = await bot.loadEncoded(surroundings.urlOf(SHORT_SONG));
    const client = new MomentClient(options, bot, { long, short });
    await client.#begin();
    return client;
  }

  get checks(): Readonly<Record<string, number>> {
    const guilds = [...this.#guilds.values()];
    const sum = (pick: (guild: MomentGuild) => number): number =>
      guilds.reduce((total, guild) => total + pick(guild), 0);
    return {
      "answered requests": sum(({ answeredCount }) => answeredCount),
      events: sum(({ ledger }) => ledger.count),
    };
  }

  /** One request or several, to one player or to several, without waiting for answers. */
  askSome(): void {
    this.#readEvents();
    const { random } = this.#options;
    const guilds = [...this.#guilds.values()];
    const count = 1 + Math.floor(random() ** 2 * ASKED_AT_ONCE_MAX);
    for (let asked = 0; asked < count; asked++) {
      const guild = guilds[Math.floor(random() * guilds.length)];
      if (guild !== undefined) guild.ask(this.#connectionOf(guild.guildId), this.#session);
    }
    const isOn = this.#resuming.at(-1) ?? true;
    if (random() < (isOn ? RESUMING_OFF_SHARE : RESUMING_ON_SHARE)) this.#setResuming(!isOn);
  }

  endTracksSoon(): void {
    const { random } = this.#options;
    for (const guild of this.#guilds.values())
      guild.endSoon(this.#connectionOf(guild.guildId), this.#session, 200 + random() * END_SOON_MS_MAX);
  }

  /** Resolves when no request is without an answer. */
  async untilAnswered(): Promise<void> {
    const deadlineMs = performance.now() + ANSWER_MS_MAX;
    const isWaiting = (): boolean =>
      this.#resuming.length > 1 || [...this.#guilds.values()].some(({ hasUnanswered }) => hasUnanswered);
    while (isWaiting() && performance.now() < deadlineMs) {
      await sleep(5);
      this.#readEvents();
    }
  }

  /** Closes its socket, if the session then waits for it; returns whether it did. */
  async leave(): Promise<boolean> {
    if (this.#resuming.some((isOn) => !isOn)) return false;
    this.#options.note("the client goes away");
    this.#isAway = true;
    this.#endedMs = Date.now();
    this.#bot.close();
    await this.#bot.closed();
    this.#readEvents();
    return true;
  }

  /** Kills the node; resolves when all that it had sent was read. */
  async kill(): Promise<void> {
    const { runs, note } = this.#options;
    // A second kill, before the client is back, ends nothing of what it was told.
    if (this.#connections.size > 0) this.#endedMs = Date.now();
    note(runs.isRunning ? "killed" : "not running");
    await runs.end("SIGKILL");
    if (!this.#isAway) await this.#bot.closed();
    for (const connection of this.#connections.values()) await connection.closed();
    this.#connections.clear();
    this.#readEvents();
    for (const { ledger } of this.#guilds.values()) ledger.processEnded(this.#endedMs);
  }

  /** Comes back to a node that listens; returns what was lost. */
  async resumeAndJudge(): Promise<readonly string[]> {
    const { runs, note } = this.#options;
    this.#bot = await connectBot(runs, { sessionId: this.#bot.sessionId });
    this.#readCount = 0;
    this.#isAway = false;
    const resumed = isResumed(this.#bot);
    note(`ready, resumed: ${resumed}`);
    const possible = this.#resuming;
    const losses = possible.includes(resumed) ? [] : [`resumed: ${resumed}, but resuming was ${possible.join(" or ")}`];
    if (!resumed) {
      for (const guild of this.#guilds.values()) losses.push(...guild.forget());
      const views = await this.#players();
      if (views.size > 0) losses.push(`a new session has ${views.size} players`);
      await this.#begin();
      return losses;
    }
    // The setting survives; which one it was shows only when it was asked for without an answer.
    this.#resuming = [true];
    const views = await this.#settledPlayers();
    for (const guild of this.#guilds.values()) {
      losses.push(...guild.judge(views.get(guild.guildId)));
    }
    const strangers = [...views.keys()].filter((guildId) => !this.#guilds.has(guildId));
    if (strangers.length > 0) losses.push(`players that nobody asked for: ${strangers}`);
    return losses;
  }

  close(): void {
    this.#bot.close();
    for (const connection of this.#connections.values()) connection.close();
  }

  get #session(): string {
    return `/v4/sessions/${this.#bot.sessionId}`;
  }

  /** A new session that waits for its client. */
  async #begin(): Promise<void> {
    await this.#bot.request("PATCH", this.#session, { resuming: true, timeout: TIMEOUT_SECONDS });
    this.#resuming = [true];
    await this.#openConnections();
  }

  #setResuming(isOn: boolean): void {
    this.#resuming.push(isOn);
    this.#options.note(`asked resuming: ${isOn}`);
    void this.#connectionOf("")
      .send("PATCH", this.#session, { resuming: isOn })
      .then((answer) => {
        if (answer?.status !== 200) return;
        this.#options.note(`answered resuming: ${isOn}`);
        this.#resuming.shift();
      });
  }

  #connectionOf(name: string): PipelinedConnection {
    const connection = this.#connections.get(name);
    if (connection === undefined) throw new Error("not connected");
    return connection;
  }

  async #openConnections(): Promise<void> {
    const { runs } = this.#options;
    for (const name of [...this.#guilds.keys(), ""]) {
      if (this.#connections.get(name)?.isOpen !== true)
        this.#connections.set(name, await PipelinedConnection.open(runs.port, RESTART_PASSWORD));
    }
  }

  async #players(): Promise<ReadonlyMap<string, PlayerView>> {
    const { body } = await this.#bot.request<readonly PlayerView[]>("GET", `${this.#session}/players`);
    return new Map(body.map((player) => [player.guildId, player]));
  }

  /** When all events of the restart have come: tracks that are over have ended. */
  async #settledPlayers(): Promise<ReadonlyMap<string, PlayerView>> {
    await this.#openConnections();
    const startedMs = performance.now();
    for (;;) {
      await this.#bot.ping();
      this.#readEvents();
      const eventsBefore = this.checks.events;
      const views = await this.#players();
      await sleep(HELD_MS_MAX);
      await this.#bot.ping();
      this.#readEvents();
      // What has ended in between is in the events, but not in the answer.
      if (this.checks.events !== eventsBefore) continue;
      const guilds = [...this.#guilds.values()];
      const isOverdue = guilds.some((guild) => guild.isOverdue(views.get(guild.guildId)));
      const tookMs = performance.now() - startedMs;
      if (tookMs > SETTLE_MS_MAX || (!isOverdue && tookMs > SETTLE_MS_MIN)) return views;
      await sleep(POLL_MS);
    }
  }

  #readEvents(): void {
    const { messages } = this.#bot;
    for (const message of messages.slice(this.#readCount)) {
      if (message.op === "event") this.#guilds.get(message.guildId ?? "")?.onEvent(message);
    }
    this.#readCount = messages.length;
  }
}
