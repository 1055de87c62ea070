// Many players of one node, each in its own voice channel: joining, playing, audible, leaving. An answer of the node is
// awaited for at most `ANSWER_MS_MAX`, and a failure of one player is described in a sentence.

import type { IssuedVoice } from "../discord/voice-session.ts";
import { sleep } from "../sleep.ts";
import type { Bot } from "../test-environment/bot.ts";
import { within } from "../within.ts";
import { CannotPlay, NodeTrouble } from "./trouble.ts";
import type { Handshakes, World } from "./world.ts";

export const BENCH_USER_ID = "100000000000000001";
/** Players set up concurrently: a client would not send hundreds of PATCHes at once either. */
const JOIN_WIDTH = 16;
const ANSWER_MS_MAX = 20_000;
/** Time until all players that were started are audible. */
const AUDIBLE_MS_MAX = 30_000;
const AUDIBLE_POLL_MS = 50;
const FIRST_GUILD = 1_000_000;
const WORDS_MAX = 300;
/** Close code of the voice gateway. */
const DAVE_REQUIRED = 4017;

interface CrowdContext {
  readonly world: World;
  readonly bot: Bot;
  /** 0: without DAVE. */
  readonly daveVersion: number;
}

export class Crowd {
  readonly world: World;
  readonly bot: Bot;
  readonly #daveVersion: number;
  readonly #handshakesBefore: Handshakes;
  readonly #guildIds = new Set<string>();
  #nextGuild = FIRST_GUILD;

  private constructor({ world, bot, daveVersion }: CrowdContext, handshakesBefore: Handshakes) {
    this.world = world;
    this.bot = bot;
    this.#daveVersion = daveVersion;
    this.#handshakesBefore = handshakesBefore;
  }

  /** An empty crowd. Other nodes may have used the same world before. */
  static async gather(context: CrowdContext): Promise<Crowd> {
    return new Crowd(context, await context.world.handshakes());
  }

  /** Guilds that no player has yet. */
  newGuilds(count: number): readonly string[] {
    return Array.from({ length: count }, () => String(this.#nextGuild++));
  }

  /** Loads a song of the bench's site; returns its encoded form. */
  async load(file: string): Promise<string> {
    const { status, body } = await this.#answerOf(
      "loadtracks",
      this.bot.load(`${await this.world.mediaUrl()}/${file}`),
    );
    const { encoded } = (body?.data ?? {}) as { readonly encoded?: unknown }; // whatever the node answers
    if (body?.loadType === "track" && typeof encoded === "string") return encoded;
    throw new CannotPlay(`does not load ${file}: ${status} ${wordsOf(body)}`);
  }

  /**
   * Plays one file in `count` players until they are stopped; resolves with their guilds when all are audible. For the
   * node it is a different track in each, as a node does work for equal ones only once.
   */
  async play(file: string, count: number, further: object = {}): Promise<readonly string[]> {
    const guildIds = this.newGuilds(count);
    await this.inGroups(guildIds, async (guildId) => {
      await this.#join(guildId, { track: { encoded: await this.load(`${file}?${guildId}`) }, ...further });
    });
    await this.untilAudible(guildIds);
    return guildIds;
  }

  /** Like `play`, with one track for all players. */
  async playTogether(file: string, count: number, further: object = {}): Promise<readonly string[]> {
    const track = { encoded: await this.load(file) };
    const guildIds = this.newGuilds(count);
    await this.inGroups(guildIds, (guildId) => this.#join(guildId, { track, ...further }));
    await this.untilAudible(guildIds);
    return guildIds;
  }

  async #join(guildId: string, update: object): Promise<void> {
    await this.update(guildId, { voice: await this.issueVoice(guildId) });
    await this.update(guildId, update);
  }

  issueVoice(guildId: string): Promise<IssuedVoice> {
    const channelId = `${guildId}7`;
    return this.world.issueVoice({ guildId, userId: BENCH_USER_ID, channelId, daveVersion: this.#daveVersion });
  }

  /** PATCH player. */
  async update(guildId: string, body: object): Promise<void> {
    this.#guildIds.add(guildId); // the player may exist whatever the answer
    const path = `/v4/sessions/${this.bot.sessionId}/players/${guildId}`;
    const answer = await this.#answerOf("PATCH player", this.bot.request("PATCH", path, body));
    if (answer.status === 200) return;
    refuseIncompatible(await this.#handshakes()); // which may be why
    throw new CannotPlay(`answers PATCH player with ${answer.status} ${wordsOf(answer.body)}`);
  }

  /** Limited concurrency. */
  async inGroups(guildIds: readonly string[], work: (guildId: string) => Promise<void>): Promise<void> {
    for (let from = 0; from < guildIds.length; from += JOIN_WIDTH) {
      await Promise.all(guildIds.slice(from, from + JOIN_WIDTH).map(work));
    }
  }

  /** When the first audio of each player arrived, by `monotonicMs`; undefined: not yet. */
  async audibleAtMs(guildIds: readonly string[]): Promise<readonly (number | undefined)[]> {
    return (await this.world.firstAudio(guildIds)).map((atMs) => atMs ?? undefined);
  }

  /** Destroys all players. */
  async leave(): Promise<void> {
    const guildIds = [...this.#guildIds];
    this.#guildIds.clear();
    await this.inGroups(guildIds, async (guildId) => {
      await this.#answerOf("DELETE player", this.bot.destroy(guildId));
    });
  }

  /** Rejects with a `CannotPlay` when one of them is not. */
  async untilAudible(guildIds: readonly string[]): Promise<void> {
    const deadlineMs = performance.now() + AUDIBLE_MS_MAX;
    let audibleCount = 0;
    while (performance.now() < deadlineMs) {
      audibleCount = (await this.audibleAtMs(guildIds)).filter((atMs) => atMs !== undefined).length;
      if (audibleCount === guildIds.length) return;
      if (audibleCount === 0) refuseIncompatible(await this.#handshakes());
      await sleep(AUDIBLE_POLL_MS);
    }
    const { upgrades, closeCodes } = await this.#handshakes();
    const codes = Object.keys(closeCodes).join(", ");
    const closed = codes === "" ? "" : `, which closed some with ${codes}`;
    throw new CannotPlay(
      `after ${AUDIBLE_MS_MAX / 1000} s ${audibleCount} of ${guildIds.length} players sent audio; the node opened the voice gateway ` +
        `${upgrades} times${closed}`,
    );
  }

  /** Handshakes of this node since the crowd was created. */
  async #handshakes(): Promise<Handshakes> {
    const [before, now] = [this.#handshakesBefore, await this.world.handshakes()];
    return {
      upgrades: now.upgrades - before.upgrades,
      tlsAttempts: now.tlsAttempts - before.tlsAttempts,
      closeCodes: Object.fromEntries(
        Object.entries(now.closeCodes).filter(([code, count]) => count > (before.closeCodes[Number(code)] ?? 0)),
      ),
    };
  }

  async #answerOf<T>(what: string, work: Promise<T>): Promise<T> {
    const answered = work.then(
      (value) => ({ value }),
      (error: unknown) => {
        throw new NodeTrouble(`${what}: ${error instanceof Error ? error.message : error}`);
      },
    );
    const answer = await within(answered, ANSWER_MS_MAX);
    if (answer === undefined) throw new NodeTrouble(`did not answer ${what} within ${ANSWER_MS_MAX / 1000} s`);
    return answer.value;
  }
}

function wordsOf(body: unknown): string {
  return (JSON.stringify(body) ?? "and no body").slice(0, WORDS_MAX);
}

/** Throws when no player of this node can ever be audible here. */
function refuseIncompatible({ tlsAttempts, closeCodes }: Handshakes): void {
  if (tlsAttempts > 0) {
    throw new CannotPlay(
      "opens voice gateways with TLS (wss://) only, and the bench's speaks ws://: with players it cannot be measured " +
        "here, at rest it can (--only idle)",
    );
  }
  if (DAVE_REQUIRED in closeCodes) {
    throw new CannotPlay("does not speak DAVE, which this run asks for: compare both with --no-dave");
  }
}
