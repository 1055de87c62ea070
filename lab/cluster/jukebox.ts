// A player of the cluster lab that plays one short song after the other, so that events are on their way whenever a
// machine ends: its client sends the next song when it is told of the end of the last. Lab only.

import { EventLedger } from "../restart/event-ledger.ts";
import { trackNumber } from "../restart/player-model.ts";
import { SHORT_SONG, type Surroundings } from "../restart/surroundings.ts";
import { sleep } from "../sleep.ts";
import type { Bot, PlayerView } from "../test-environment/bot.ts";

/** When all of a player's events should have come: a song, a join and a busy machine. */
const SETTLE_MS_MAX = 30_000;
/** Events wait until they are stored: a little more than the node lets them. */
const HELD_MS_MAX = 300;
/** After a request without an answer. */
const AGAIN_MS = 2000;
/** Nothing plays although a song was asked for: it was replaced by one whose request came late. Longer than a join. */
const IDLE_MS_MAX = 40_000;

export class Jukebox {
  readonly guildId: string;
  readonly #ledger = new EventLedger();
  readonly #surroundings: Surroundings;
  #encoded = "";
  #readFrom: Bot | undefined;
  #readCount = 0;
  #number = 0;
  /** The song of that number was asked for without an answer. */
  #isUncertain = false;
  /** The last request without an answer, or with one that says nothing. */
  #failure = "";
  /** When the last request had its answer, or failed. */
  #answeredMs = 0;
  /** When the last event came. */
  #toldMs = 0;
  #asked: Promise<void> | undefined;
  #isAsking = false;
  readonly #losses: string[] = [];

  constructor(guildId: string, surroundings: Surroundings) {
    this.guildId = guildId;
    this.#surroundings = surroundings;
  }

  /** Of starts and ends. */
  get eventCount(): number {
    return this.#ledger.count;
  }

  async begin(bot: Bot): Promise<void> {
    this.#encoded = await bot.loadEncoded(this.#surroundings.urlOf(SHORT_SONG));
    await bot.update(this.guildId, { voice: this.#surroundings.issueVoice(this.guildId, bot.userId) });
    await this.#play(bot, ++this.#number);
  }

  /** The machine of its session has ended. */
  processEnded(): void {
    this.#ledger.processEnded(Date.now());
  }

  /** Reads the events that have come over this connection; sends the next song after an end. Call it again and again. */
  attend(bot: Bot): void {
    if (bot !== this.#readFrom) this.#readCount = 0;
    this.#readFrom = bot;
    const { messages } = bot;
    for (; this.#readCount < messages.length; this.#readCount++) {
      const message = messages[this.#readCount];
      if (message?.op !== "event" || message.guildId !== this.guildId) continue;
      this.#losses.push(...this.#ledger.add(message, Date.now()));
      this.#toldMs = performance.now();
      if (trackNumber(message.track) === this.#number) this.#isUncertain = false;
    }
    // A request without an answer may have been carried out: the next song has another number.
    const now = performance.now();
    const isDue = this.#isUncertain && now >= this.#answeredMs + AGAIN_MS;
    const isIdle = this.#ledger.current === undefined && now >= Math.max(this.#toldMs, this.#answeredMs) + IDLE_MS_MAX;
    if (this.#isAsking || !(isDue || isIdle || this.#ledger.finished.has(this.#number))) return;
    this.#asked = this.#play(bot, ++this.#number);
  }

  /** What was lost since the last call, of a session that has its client. */
  async judge(bot: Bot): Promise<readonly string[]> {
    const deadlineMs = performance.now() + SETTLE_MS_MAX;
    for (;;) {
      this.attend(bot);
      await this.#asked;
      const { count } = this.#ledger;
      const view = await this.#view(bot);
      await sleep(HELD_MS_MAX);
      await bot.ping();
      this.attend(bot);
      if (count === this.#ledger.count && !this.#isUncertain) {
        this.#losses.push(...this.#ledger.compare(trackNumber(view?.track)));
        break;
      }
      if (performance.now() > deadlineMs) {
        this.#losses.push(
          `song ${this.#number} does not get an answer and plays (${this.#failure}), or events come all the time`,
        );
        break;
      }
    }
    return this.#losses.splice(0).map((loss) => `guild ${this.guildId}: ${loss}`);
  }

  /** Resolves when no request is on its way. */
  async settle(): Promise<void> {
    await this.#asked;
  }

  /** Its session is gone. */
  forget(): void {
    this.#ledger.forget();
  }

  async #view(bot: Bot): Promise<PlayerView | undefined> {
    const path = `/v4/sessions/${bot.sessionId}/players/${this.guildId}`;
    const { status, body } = await bot.request<PlayerView>("GET", path);
    if (status !== 200 && status !== 404) this.#losses.push(`GET player: ${status} ${JSON.stringify(body)}`);
    return status === 200 ? body : undefined;
  }

  /** Never rejects. */
  async #play(bot: Bot, number: number): Promise<void> {
    this.#isAsking = true;
    await this.#ask(bot, number);
    this.#isAsking = false;
    this.#answeredMs = performance.now();
  }

  async #ask(bot: Bot, number: number): Promise<void> {
    this.#isUncertain = true;
    const track = { encoded: this.#encoded, userData: { number } };
    const path = `/v4/sessions/${bot.sessionId}/players/${this.guildId}`;
    const answer = await bot.request("PATCH", path, { track }).catch((error: unknown) => ({ status: 0, body: error }));
    // A session whose client is away is not found: the bot may not know yet that it is.
    if (answer.status === 0 || answer.status === 404 || answer.status >= 500) {
      this.#failure = `${answer.status} ${JSON.stringify(answer.body)}`;
      return;
    }
    this.#isUncertain = false;
    if (answer.status !== 200) this.#losses.push(`song ${number}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}
