// A player of the chaos lab that comes and goes: it is made, plays for a while, is destroyed and made again, while
// machines die. Once the node has answered that it is destroyed, it must be silent, unknown, and its end told. Lab only.

import { EventLedger } from "../restart/event-ledger.ts";
import { trackNumber } from "../restart/player-model.ts";
import { COUNTED_SONG, type Surroundings } from "../restart/surroundings.ts";
import { sleep } from "../sleep.ts";
import type { Bot, PlayerView } from "../test-environment/bot.ts";
import { within } from "../within.ts";

const STAY_MS_MIN = 1000;
const STAY_MS_MAX = 8000;
/** Between two visits; longer than what was on its way when the player was destroyed. */
const AWAY_MS = 3000;
/** What was on its way is heard until so long after the answer. */
const LAST_PACKET_MS_MAX = 1000;
const ANSWER_MS_MAX = 60_000;
const AGAIN_MS = 500;
/** A bot comes back, and a dead machine's players get another one. */
const TRY_MS_MAX = 120_000;

export class Guest {
  readonly guildId: string;
  readonly losses: string[] = [];
  readonly #surroundings: Surroundings;
  readonly #random: () => number;
  readonly #ledger = new EventLedger();
  #encoded = "";
  #number = 0;
  #visits = 0;
  #readFrom: Bot | undefined;
  #readCount = 0;
  #isStopped = false;
  #running: Promise<void> | undefined;

  constructor(guildId: string, surroundings: Surroundings, random: () => number) {
    this.guildId = guildId;
    this.#surroundings = surroundings;
    this.#random = random;
  }

  /** Of starts and ends. */
  get eventCount(): number {
    return this.#ledger.count;
  }

  /** How often it was made and destroyed. */
  get visits(): number {
    return this.#visits;
  }

  async prepare(bot: Bot): Promise<void> {
    this.#encoded = await bot.loadEncoded(this.#surroundings.urlOf(COUNTED_SONG));
  }

  /** `currentBot`: the bot's connection, which is another one after each return. */
  start(currentBot: () => Bot): void {
    this.#running = this.#run(currentBot);
  }

  /** Resolves when it is destroyed for the last time. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  /** Reads the events that have come over this connection. Call it again and again. */
  attend(bot: Bot): void {
    if (bot !== this.#readFrom) this.#readCount = 0;
    this.#readFrom = bot;
    const { messages } = bot;
    for (; this.#readCount < messages.length; this.#readCount++) {
      const message = messages[this.#readCount];
      if (message?.op !== "event" || message.guildId !== this.guildId) continue;
      for (const fault of this.#ledger.add(message, Date.now())) this.#lose(fault);
    }
  }

  /** The machine of its session has ended. */
  processEnded(): void {
    this.#ledger.processEnded(Date.now());
  }

  /** Its session is gone. */
  forget(): void {
    this.#ledger.forget();
  }

  async #run(currentBot: () => Bot): Promise<void> {
    while (!this.#isStopped) {
      const voice = this.#surroundings.issueVoice(this.guildId, currentBot().userId);
      const play = (bot: Bot): Promise<boolean> => this.#play(bot, voice);
      if (!(await this.#insist(currentBot, play, "is not made"))) return;
      await sleep(STAY_MS_MIN + this.#random() * (STAY_MS_MAX - STAY_MS_MIN));
      if (!(await this.#insist(currentBot, (bot) => this.#destroy(bot), "is not destroyed"))) return;
      await this.#expectGone(currentBot);
      this.#visits++;
    }
  }

  /** Again and again until it succeeds. */
  async #insist(currentBot: () => Bot, act: (bot: Bot) => Promise<boolean>, loss: string): Promise<boolean> {
    const deadlineMs = performance.now() + TRY_MS_MAX;
    while (!(await act(currentBot()))) {
      if (performance.now() > deadlineMs) {
        this.#lose(`${loss} in ${TRY_MS_MAX / 1000} s`);
        return false;
      }
      await sleep(AGAIN_MS);
    }
    return true;
  }

  /** A request without an answer may have been carried out: the next one has another number. */
  async #play(bot: Bot, voice: object): Promise<boolean> {
    const track = { encoded: this.#encoded, userData: { number: ++this.#number } };
    return (await this.#ask(bot, "PATCH", { voice, track })).status === 200;
  }

  async #destroy(bot: Bot): Promise<boolean> {
    return (await this.#ask(bot, "DELETE")).status === 204;
  }

  async #expectGone(currentBot: () => Bot): Promise<void> {
    const destroyedMs = performance.now();
    await sleep(AWAY_MS);
    const { last } = this.#surroundings.earOf(this.guildId);
    const heardMs = (last?.atMs ?? destroyedMs) - destroyedMs;
    if (heardMs > LAST_PACKET_MS_MAX) this.#lose(`was heard ${Math.round(heardMs)} ms after it was destroyed`);
    const view = await this.#ask<PlayerView>(currentBot(), "GET");
    if (view.status === 200) this.#lose(`is there with track ${trackNumber(view.body?.track)}, and was destroyed`);
    // Events wait while the bot is away.
    const deadlineMs = performance.now() + TRY_MS_MAX;
    while (this.#ledger.current !== undefined && performance.now() < deadlineMs) await sleep(AGAIN_MS);
    for (const fault of this.#ledger.compare(undefined)) this.#lose(fault);
  }

  async #ask<T>(bot: Bot, method: string, body?: object): Promise<{ readonly status: number; readonly body?: T }> {
    const path = `/v4/sessions/${bot.sessionId}/players/${this.guildId}`;
    const answer = await within(bot.request<T>(method, path, body), ANSWER_MS_MAX).catch(() => undefined);
    return answer ?? { status: 0 };
  }

  #lose(loss: string): void {
    this.losses.push(`guest ${this.guildId} ${loss}`);
  }
}
