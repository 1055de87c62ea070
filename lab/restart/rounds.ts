// `--players`: a session with many players is ended and started again, round by round. What was asked for must be there
// again, and the gap in each player's audio is measured, beside a fresh node whose client plays at once. Lab only.

import { seededRandom } from "../seeded-random.ts";
import { sleep } from "../sleep.ts";
import type { Bot, PlayerView } from "../test-environment/bot.ts";
import { type CastPlayer, castOf, userDataOf } from "./cast.ts";
import { controlOf } from "./control.ts";
import { NodeRuns } from "./node-runs.ts";
import { connectBot, isResumed, PACKET_MS, Surroundings } from "./surroundings.ts";

export interface RoundsOptions {
  readonly players: number;
  readonly rounds: number;
  readonly end: "SIGKILL" | "SIGTERM";
  readonly seed: number;
  readonly hasDave: boolean;
  readonly report: (line: string) => void;
}

/** Milliseconds; of the process where not said otherwise. */
interface Round {
  /** From spawning the process until it listened. */
  readonly listeningMs: number;
  /** Until the client had its `ready`. */
  readonly readyMs: number;
  /** Until the first audio packet of each player. */
  readonly startsMs: readonly number[];
  /** From the last packet before to the first one after, of each player. */
  readonly gapsMs: readonly number[];
  /** How far the reported positions are from where they would be without the restart; above 0: ahead. */
  readonly positionErrorsMs: readonly number[];
  /** The same of what was heard. */
  readonly heardErrorsMs: readonly number[];
  /** A fresh node and a client that plays in one player at once: until it listened, until the first packet. */
  readonly control: { readonly listeningMs: number; readonly startsMs: readonly number[] };
  readonly losses: readonly string[];
}

export interface RoundsResult {
  readonly rounds: readonly Round[];
  /** As `control`, but with all players. */
  readonly crowdControl: { readonly listeningMs: number; readonly startsMs: readonly number[] };
  readonly losses: readonly string[];
}

const AUDIBLE_MS_MAX = 45_000;
const RECENT_MS = 300;
const POSITION_TOLERANCE_MS = 1500;
const JOIN_WIDTH = 16;
const POLL_MS = 20;
/** A paused player stays where it is, but a worker may have rendered a frame more than was reported. */
const PAUSED_TOLERANCE_MS = 0;
const TIMEOUT_SECONDS = 60;
/** Reported by `ws` for a connection that ended without a close code. */
const DROPPED = 1006;
/** At the end of an encoded track. */
const POSITION_BYTES = 8;
const TEXT_MAX = 600;

export async function runRounds(options: RoundsOptions): Promise<RoundsResult> {
  const surroundings = await Surroundings.start({ hasDave: options.hasDave });
  const runs = await NodeRuns.prepare({ hasState: true });
  try {
    const cast = castOf(options.players, seededRandom(options.seed));
    await runs.start();
    let bot = await connectBot(runs);
    await bot.request("PATCH", `/v4/sessions/${bot.sessionId}`, { resuming: true, timeout: TIMEOUT_SECONDS });
    await assemble(bot, surroundings, cast);
    const rounds: Round[] = [];
    for (let number = 1; number <= options.rounds; number++) {
      await untilAllHeard(surroundings, cast, performance.now() - RECENT_MS);
      const control = await controlOf(surroundings, { cast: cast.slice(0, 1), guild: 900_000 + number });
      const outcome = await runRound({ surroundings, runs, bot, cast, options });
      bot = outcome.bot;
      rounds.push({ ...outcome.round, control });
      options.report(roundLine(number, { ...outcome.round, control }));
      for (const loss of outcome.round.losses.slice(0, 10)) options.report(`  LOSS ${loss}`);
      if (!isResumed(bot)) break;
    }
    const endLosses = isResumed(bot) && rounds.length > 0 ? await endTimesLost(bot, cast) : [];
    for (const loss of endLosses) options.report(`  LOSS ${loss}`);
    bot.close();
    await runs.end("SIGKILL");
    const crowdControl = await controlOf(surroundings, { cast, guild: 700_000 });
    const losses = rounds.flatMap((round, index) => round.losses.map((loss) => `round ${index + 1}: ${loss}`));
    return { rounds, crowdControl, losses: [...losses, ...endLosses] };
  } finally {
    await runs.close();
    await surroundings.close();
  }
}

interface RoundContext {
  readonly surroundings: Surroundings;
  readonly runs: NodeRuns;
  readonly bot: Bot;
  readonly cast: readonly CastPlayer[];
  readonly options: RoundsOptions;
}

async function runRound(context: RoundContext): Promise<{ bot: Bot; round: Omit<Round, "control"> }> {
  const { surroundings, runs, cast, options } = context;
  const before = await playersOf(context.bot);
  const eventsBefore = eventCount(context.bot);
  await runs.end(options.end);
  const { code } = await context.bot.closed();
  const losses: string[] = [];
  if (code !== DROPPED) losses.push(`the socket was closed with ${code}: not every client resumes after a close code`);
  const extra = eventCount(context.bot) - eventsBefore;
  if (extra > 0) losses.push(`${extra} events were sent at the end: ${eventTypes(context.bot, eventsBefore)}`);
  const ears = new Map(cast.map(({ guildId }) => [guildId, surroundings.earOf(guildId)]));
  const lastMs = new Map([...ears].map(([guildId, ear]) => [guildId, ear.last?.atMs]));
  for (const ear of ears.values()) ear.listenAgain();
  const listeningMs = await runs.start();
  const bot = await connectBot(runs, context.bot.sessionId);
  const readyMs = performance.now() - runs.spawnedMs;
  const none = { startsMs: [], gapsMs: [], positionErrorsMs: [], heardErrorsMs: [] };
  if (!isResumed(bot)) {
    losses.push("the session was not resumed");
    return { bot, round: { listeningMs, readyMs, ...none, losses } };
  }
  losses.push(...compare(before, await playersOf(bot), cast));
  const silent = await untilAllHeard(surroundings, cast, runs.spawnedMs);
  if (silent.length > 0) losses.push(`${silent.length} players were silent for ${AUDIBLE_MS_MAX / 1000} s: ${silent}`);
  const audible = cast.filter(({ rate, guildId }) => rate > 0 && ears.get(guildId)?.first !== undefined);
  const firstMs = (guildId: string): number => ears.get(guildId)?.first?.atMs ?? Number.NaN;
  const startsMs = audible.map(({ guildId }) => firstMs(guildId) - runs.spawnedMs);
  const gapsMs = audible.map(({ guildId }) => firstMs(guildId) - (lastMs.get(guildId) ?? Number.NaN));
  const joiningMs = new Map(audible.map(({ guildId }) => [guildId, firstMs(guildId) - runs.spawnedMs - listeningMs]));
  const positions = positionErrors({ before, after: await playersOf(bot), cast, joiningMs });
  losses.push(...positions.losses);
  const heardErrorsMs = heardErrors({ before, cast: audible, surroundings });
  const events = bot.messages.filter(({ op }) => op === "event");
  if (events.length > 0) losses.push(`${events.length} events after the restart: ${eventTypes(bot, 0)}`);
  const round = { listeningMs, readyMs, startsMs, gapsMs, positionErrorsMs: positions.errorsMs, heardErrorsMs, losses };
  return { bot, round };
}

/** All players, joined and playing. */
async function assemble(bot: Bot, surroundings: Surroundings, cast: readonly CastPlayer[]): Promise<void> {
  const songs = new Map<string, string>();
  for (const { song } of cast) {
    if (!songs.has(song)) songs.set(song, await bot.loadEncoded(surroundings.urlOf(song)));
  }
  for (let from = 0; from < cast.length; from += JOIN_WIDTH) {
    const group = cast.slice(from, from + JOIN_WIDTH);
    await Promise.all(
      group.map(({ guildId, song, body }, index) => {
        const track = { encoded: songs.get(song), userData: userDataOf(from + index) };
        return bot.update(guildId, { voice: surroundings.issueVoice(guildId), track, ...body });
      }),
    );
  }
  const silent = await untilAllHeard(surroundings, cast, performance.now());
  if (silent.length > 0) throw new Error(`the players cannot be heard before the first round: ${silent}`);
}

type Views = ReadonlyMap<string, PlayerView>;

async function playersOf(bot: Bot): Promise<Views> {
  const { body } = await bot.request<readonly PlayerView[]>("GET", `/v4/sessions/${bot.sessionId}/players`);
  return new Map(body.map((player) => [player.guildId, player]));
}

/** All but the positions of playing ones and the state of their connections. */
function compare(before: Views, after: Views, cast: readonly CastPlayer[]): string[] {
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
function positionErrors(context: {
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

/** Of counted songs: the first packet heard against where it would be then. */
function heardErrors(context: {
  readonly before: Views;
  readonly cast: readonly CastPlayer[];
  readonly surroundings: Surroundings;
}): number[] {
  const { before, cast, surroundings } = context;
  const offsetMs = Date.now() - performance.now();
  return cast.flatMap(({ guildId, isCounted }) => {
    const [was, first] = [before.get(guildId)?.state, surroundings.earOf(guildId).first];
    if (!isCounted || was === undefined || first === undefined) return [];
    const expectedMs = was.position + (first.atMs + offsetMs - was.time);
    return [first.number * PACKET_MS - expectedMs];
  });
}

/** Waits until each playing guild was heard since then; returns those that were not. */
async function untilAllHeard(
  surroundings: Surroundings,
  cast: readonly CastPlayer[],
  sinceMs: number,
): Promise<readonly string[]> {
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
async function endTimesLost(bot: Bot, cast: readonly CastPlayer[]): Promise<readonly string[]> {
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

function eventCount(bot: Bot): number {
  return bot.messages.filter(({ op }) => op === "event").length;
}

function eventTypes(bot: Bot, from: number): string {
  const types = bot.messages.filter(({ op }) => op === "event").slice(from);
  return [...new Set(types.map(({ type }) => type))].join(", ");
}

function roundLine(number: number, round: Round): string {
  return (
    `round ${number}: listening after ${round.listeningMs.toFixed(0)} ms, ready after ${round.readyMs.toFixed(0)} ms, ` +
    `${round.startsMs.length} players heard again, ${round.losses.length} losses`
  );
}
