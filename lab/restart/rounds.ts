// `--players`: a session with many players is ended and started again, round by round. What was asked for must be there
// again, and the gap in each player's audio is measured, beside a fresh node whose client plays at once. Lab only.

import { seededRandom } from "../seeded-random.ts";
import type { Bot } from "../test-environment/bot.ts";
import { type CastPlayer, castOf } from "./cast.ts";
import { controlOf } from "./control.ts";
import {
  AUDIBLE_MS_MAX,
  assemble,
  compare,
  endTimesLost,
  eventCount,
  eventTypes,
  heardErrors,
  playersOf,
  positionErrors,
  untilAllHeard,
} from "./crowd.ts";
import { NodeRuns } from "./node-runs.ts";
import { connectBot, isResumed, Surroundings } from "./surroundings.ts";

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

const RECENT_MS = 300;
const TIMEOUT_SECONDS = 60;
/** Reported by `ws` for a connection that ended without a close code. */
const DROPPED = 1006;

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
  const bot = await connectBot(runs, { sessionId: context.bot.sessionId });
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

function roundLine(number: number, round: Round): string {
  return (
    `round ${number}: listening after ${round.listeningMs.toFixed(0)} ms, ready after ${round.readyMs.toFixed(0)} ms, ` +
    `${round.startsMs.length} players heard again, ${round.losses.length} losses`
  );
}
