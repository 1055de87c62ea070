// Changes volume and equalizer of some players again and again while machines die: what was answered must be there in
// the end, what was not may be. Lab only.

import { sleep } from "../sleep.ts";
import type { Bot, PlayerView } from "../test-environment/bot.ts";
import { within } from "../within.ts";

const EVERY_MS = 2500;
/** A machine that stood still answers when it goes on. */
const ANSWER_MS_MAX = 60_000;

/** Requests that are shown with a loss. */
const HISTORY = 12;

interface Tuned {
  readonly volume: number;
  readonly gain: number;
}

/** How one request was answered. */
export interface TunerAnswer {
  /** 0: not at all. */
  readonly status: number;
  readonly tookMs: number;
}

export class Tuner {
  readonly guildId: string;
  readonly answers: TunerAnswer[] = [];
  /** Answers that no event explains. */
  readonly losses: string[] = [];
  readonly #random: () => number;
  /** The last that was answered, then those that were not, and may have been carried out. Empty: nothing was asked. */
  #possible: Tuned[] = [];
  /** The last requests in words, with their answers. */
  readonly #history: string[] = [];
  #isStopped = false;
  #running: Promise<void> | undefined;

  constructor(guildId: string, random: () => number) {
    this.guildId = guildId;
    this.#random = random;
  }

  /** `currentBot`: the bot's connection, which is another one after each return. */
  start(currentBot: () => Bot): void {
    this.#running = this.#run(currentBot);
  }

  /** Resolves when no request is on its way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  /** What is wrong with the player in the end. */
  judge(view: PlayerView): readonly string[] {
    const { volume, filters } = view as PlayerView & { readonly filters: { readonly equalizer?: readonly Band[] } };
    if (this.#possible.length === 0) return [];
    const gain = filters.equalizer?.find(({ band }) => band === 0)?.gain;
    if (this.#possible.some((tuned) => tuned.volume === volume && tuned.gain === gain)) return [];
    return [
      `player ${this.guildId}: volume and gain are ${volume}, ${gain}, not ` +
        this.#possible.map((tuned) => `${tuned.volume}, ${tuned.gain}`).join("; or, without an answer: ") +
        `; asked: ${this.#history.join("; ")}`,
    ];
  }

  async #run(currentBot: () => Bot): Promise<void> {
    while (!this.#isStopped) {
      await this.#ask(currentBot());
      await sleep(EVERY_MS * (0.5 + this.#random()));
    }
  }

  async #ask(bot: Bot): Promise<void> {
    const tuned = { volume: 20 + Math.floor(this.#random() * 80), gain: Math.floor(this.#random() * 20) / 100 };
    this.#possible.push(tuned);
    const body = { volume: tuned.volume, filters: { equalizer: [{ band: 0, gain: tuned.gain }] } };
    const startedMs = performance.now();
    const asked = bot.request("PATCH", `/v4/sessions/${bot.sessionId}/players/${this.guildId}`, body);
    const answer = await within(asked, ANSWER_MS_MAX).catch(() => undefined); // the connection has ended
    const status = answer?.status ?? 0;
    const tookMs = performance.now() - startedMs;
    this.answers.push({ status, tookMs });
    this.#history.push(`${tuned.volume}, ${tuned.gain}: ${status} after ${Math.round(tookMs)} ms`);
    if (this.#history.length > HISTORY) this.#history.shift();
    if (status === 200) this.#possible = [tuned];
    // Refused by the first machine, or by the last one.
    else if (status >= 400 && status < 500) this.#possible = this.#possible.filter((other) => other !== tuned);
    // A session whose client is away is not found, and cannot be reached on the way from one machine to another.
    if (![0, 200, 404, 503].includes(status))
      this.losses.push(`player ${this.guildId}: PATCH was answered with ${status}`);
  }
}

interface Band {
  readonly band: number;
  readonly gain: number;
}
