// A crowd of players while nodes end and start: how they begin to play, what of them must be there again, and where
// each of them should be in its track. Lab only.

import { sleep } from "../sleep.ts";
import type { Bot, NodeMessage, PlayerView } from "../test-environment/bot.ts";
import { type CastPlayer, userDataOf } from "./cast.ts";
import { type Ear, type HeardPacket, PACKET_MS, type Surroundings } from "./surroundings.ts";

export const AUDIBLE_MS_MAX = 45_000;
const POSITION_TOLERANCE_MS = 1500;
const JOIN_WIDTH = 16;
const POLL_MS = 20;
/** A paused player stays where it is, but a worker may have rendered a frame more than was reported. */
const PAUSED_TOLERANCE_MS = 0;
/** At the end of an encoded track. */
const POSITION_BYTES = 8;
const TEXT_MAX = 600;

/** All players, joined and playing. */
export async function assemble(bot: Bot, surroundings: Surroundings, cast: readonly CastPlayer[]): Promise<void> {
  const songs = new Map<string, string>();
  for (const { song } of cast) {
    if (!songs.has(song)) songs.set(song, await bot.loadEncoded(surroundings.urlOf(song)));
  }
  for (let from = 0; from < cast.length; from += JOIN_WIDTH) {
    const group = cast.slice(from, from + JOIN_WIDTH);
    await Promise.all(
      group.map(({ guildId, song, body }, index) => {
        const track = { encoded: songs.get(song), userData: userDataOf(from + index) };
        return bot.update(guildId, { voice: surroundings.issueVoice(guildId, bot.userId), track, ...body });
      }),
    );
  }
  const silent = await untilAllHeard(surroundings, cast, performance.now());
  if (silent.length > 0) throw new Error(`the players cannot be heard before the first round: ${silent}`);
}

export type Views = ReadonlyMap<string, PlayerView>;

export async function playersOf(bot: Bot): Promise<Views> {
  const { body } = await bot.request<readonly PlayerView[]>("GET", `/v4/sessions/${bot.sessionId}/players`);
  return new Map(body.map((player) => [player.guildId, player]));
}

/** All but the positions of playing ones and the state of their connections. */
export function compare(before: Views, after: Views, cast: readonly CastPlayer[]): string[] {
  const losses: string[] = [];
  for (const { guildId, isPaused } of cast) {
    const [was, is] = [before.get(guildId), after.get(guildId)];
    if (is === undefined || was === undefined) {
      losses.push(`player ${guildId} is missing`);
      continue;
    }
    for (const [member, old] of Object.entries(was)) {
      if (member === "state") continue;
      const now = Reflect.get(is, member);
      if (textOf(old) !== textOf(now))
        losses.push(`player ${guildId}: ${member} is ${textOf(now)}, was ${textOf(old)}`);
    }
    const movedMs = is.state.position - was.state.position;
    if (isPaused && Math.abs(movedMs) > PAUSED_TOLERANCE_MS)
      losses.push(`player ${guildId}: paused, and moved by ${movedMs} ms`);
  }
  if (after.size > cast.length) losses.push(`${after.size - cast.length} players too many`);
  return losses;
}

/** Without the positions: that of the moment is in the track, and at the end of its encoded form. */
function textOf(value: unknown): string {
  const text = JSON.stringify(value, (key, member: unknown) => {
    if (key === "encoded") return Buffer.from(String(member), "base64").subarray(0, -POSITION_BYTES).toString("base64");
    return key === "position" ? undefined : member;
  });
  return text.slice(0, TEXT_MAX);
}

/** A track may stand still while its voice is joined, which takes longer on a busy machine: `joiningMs` by guild. */
export function positionErrors(context: {
  readonly before: Views;
  readonly after: Views;
  readonly cast: readonly CastPlayer[];
  readonly joiningMs: ReadonlyMap<string, number>;
}): { readonly losses: readonly string[]; readonly errorsMs: readonly number[] } {
  const { before, after, cast, joiningMs } = context;
  const losses: string[] = [];
  const errorsMs: number[] = [];
  for (const { guildId, rate } of cast) {
    const [was, is] = [before.get(guildId)?.state, after.get(guildId)?.state];
    if (was === undefined || is === undefined || rate === 0) continue;
    const errorMs = is.position - (was.position + rate * (is.time - was.time));
    errorsMs.push(errorMs);
    if (errorMs > POSITION_TOLERANCE_MS || errorMs < -POSITION_TOLERANCE_MS - (joiningMs.get(guildId) ?? 0))
      losses.push(`player ${guildId}: is ${Math.round(errorMs)} ms from where it would be (${is.position})`);
  }
  return { losses, errorsMs };
}

/** Of counted songs: a packet, the first one by default, against where it would be then. */
export function heardErrors(context: {
  readonly before: Views;
  readonly cast: readonly CastPlayer[];
  readonly surroundings: Surroundings;
  readonly packetOf?: (ear: Ear) => HeardPacket | undefined;
}): number[] {
  const { before, cast, surroundings, packetOf = (ear) => ear.first } = context;
  const offsetMs = Date.now() - performance.now();
  return cast.flatMap(({ guildId, isCounted }) => {
    const [was, first] = [before.get(guildId)?.state, packetOf(surroundings.earOf(guildId))];
    if (!isCounted || was === undefined || first === undefined) return [];
    const expectedMs = was.position + (first.atMs + offsetMs - was.time);
    return [first.number * PACKET_MS - expectedMs];
  });
}

/** Waits until each playing guild was heard since then; returns those that were not. */
export async function untilAllHeard(
  surroundings: Surroundings,
  cast: readonly Pick<CastPlayer, "guildId" | "rate">[],
  sinceMs: number,
): Promise<string[]> {
  const deadlineMs = performance.now() + AUDIBLE_MS_MAX;
  for (;;) {
    const silent = cast.filter(
      ({ guildId, rate }) => rate > 0 && (surroundings.earOf(guildId).last?.atMs ?? Number.NEGATIVE_INFINITY) < sinceMs,
    );
    if (silent.length === 0 || performance.now() > deadlineMs) return silent.map(({ guildId }) => guildId);
    await sleep(POLL_MS);
  }
}

/** The end times have survived: shortly before them, each of these tracks ends. */
export async function endTimesLost(bot: Bot, cast: readonly CastPlayer[]): Promise<readonly string[]> {
  const losses: string[] = [];
  for (const { guildId, endMs } of cast) {
    if (endMs === undefined) continue;
    await bot.update(guildId, { position: endMs - 500 });
    await bot
      .until(({ type, guildId: guild }) => type === "TrackEndEvent" && guild === guildId, "an end", 10_000)
      .catch(() => losses.push(`player ${guildId}: its end time is gone`));
  }
  return losses;
}

type GuildFilter = (guildId: string) => boolean;

/** The number of events so far. */
export function eventCount(bot: Bot, isOfGuild?: GuildFilter): number {
  return eventsOf(bot, isOfGuild).length;
}

/** The types of the events after the first `from`; empty without any. */
export function eventTypes(bot: Bot, from: number, isOfGuild?: GuildFilter): string {
  return [
    ...new Set(
      eventsOf(bot, isOfGuild)
        .slice(from)
        .map(({ type }) => type),
    ),
  ].join(", ");
}

function eventsOf(bot: Bot, isOfGuild: GuildFilter = () => true): readonly NodeMessage[] {
  return bot.messages.filter(({ op, guildId }) => op === "event" && isOfGuild(guildId ?? ""));
}
