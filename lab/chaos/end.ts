// The end of a run of the chaos lab, when all is quiet: what REST says of each player, what Discord hears of it and what
// its client was told, compared with what was asked for. Lab only.

import type { CastPlayer } from "../restart/cast.ts";
import { compare, playersOf, positionErrors, type Views } from "../restart/crowd.ts";
import type { Surroundings } from "../restart/surroundings.ts";
import { sleep } from "../sleep.ts";
import type { PlayerView } from "../test-environment/bot.ts";
import type { ChaosBot } from "./chaos-bot.ts";
import { type Heard, type Loudness, levelRatio } from "./loudness.ts";
import { type Ending, heardErrorMs, heardLosses, type Outcome, outcomeOf } from "./verdict.ts";

export interface EndResult {
  readonly outcomes: readonly Outcome[];
  /** What was heard, against what REST says. */
  readonly heardErrorsMs: readonly number[];
  /** What REST says, against where the song would be had nothing happened. */
  readonly positionErrorsMs: readonly number[];
  /** How loud players are heard against what their volume says; 1: as they should be. */
  readonly levelRatios: readonly number[];
  readonly losses: readonly string[];
}

const RECENT_MS = 1000;
const TRIES = 20;
const AGAIN_MS = 500;
/** A tenth. */
const LEVEL_TOLERANCE_OCTAVES = 0.15;

/** All players when the run began, and how loud those were that can be measured. */
export interface Beginning {
  readonly views: Views;
  readonly levels: ReadonlyMap<string, number>;
}

export async function judgeEnd(context: {
  readonly surroundings: Surroundings;
  readonly loudness: Loudness;
  readonly bots: readonly ChaosBot[];
  readonly before: Beginning;
}): Promise<EndResult> {
  const { surroundings, loudness, bots, before } = context;
  const judged = await Promise.all(
    bots.flatMap((bot) => (bot.hasSession ? bot.jukeboxes.map((jukebox) => jukebox.judge(bot.bot)) : [])),
  );
  const after = await viewsOf(bots);
  const nowMs = performance.now();
  const endings = bots.flatMap((bot) =>
    bot.cast.map((player) => endingOf({ bot, player, surroundings, after, nowMs })),
  );
  const outcomes = endings.map(outcomeOf);
  const playing = endings.filter((_, index) => outcomes[index] === "plays");
  const cast = playing.map(({ player }) => player);
  const tuned = new Map(bots.flatMap(({ tuners }) => tuners.map((tuner) => [tuner.guildId, tuner] as const)));
  const tunerLosses = playing.flatMap(({ player, view }) =>
    view === undefined ? [] : (tuned.get(player.guildId)?.judge(view) ?? []),
  );
  const isPlaying = new Set(cast.map(({ guildId }) => guildId));
  const shown = new Map([...after].filter(([guildId]) => isPlaying.has(guildId)));
  const silentMs = new Map(cast.map(({ guildId }) => [guildId, surroundings.earOf(guildId).silentMs]));
  const positions = positionErrors({ before: before.views, after: shown, cast, joiningMs: silentMs });
  const levels = await levelsOf(loudness, cast);
  const ratios = cast.flatMap(({ guildId }) => {
    const heard = ({ levels: measured, views }: Beginning): Heard => ({
      level: measured.get(guildId),
      volume: views.get(guildId)?.volume,
    });
    const ratio = levelRatio(heard(before), heard({ levels, views: after }));
    return ratio === undefined ? [] : [{ guildId, ratio }];
  });
  const epochOffsetMs = Date.now() - performance.now();
  return {
    outcomes,
    heardErrorsMs: playing.flatMap((ending) => heardErrorMs(ending, epochOffsetMs) ?? []),
    positionErrorsMs: positions.errorsMs,
    levelRatios: ratios.map(({ ratio }) => ratio),
    losses: [
      ...judged.flat(),
      ...outcomes.flatMap((outcome, index) => lossOf(outcome, endings[index])),
      ...compare(withTuned(before.views, shown, tuned), shown, cast),
      ...tunerLosses,
      ...positions.losses,
      ...heardLosses(playing, epochOffsetMs),
      ...ratios
        .filter(({ ratio }) => Math.abs(Math.log2(ratio)) > LEVEL_TOLERANCE_OCTAVES)
        .map(({ guildId, ratio }) => `player ${guildId}: is ${ratio.toFixed(2)} times as loud as its volume says`),
    ],
  };
}

/** Of players whose songs are decoded: the others are sent as they are. */
export function levelsOf(loudness: Loudness, cast: readonly CastPlayer[]): Promise<ReadonlyMap<string, number>> {
  return loudness.levels(cast.filter(({ isCounted }) => !isCounted).map(({ guildId }) => guildId));
}

/** All players of all bots by REST, without the jukeboxes. */
export async function viewsOf(bots: readonly ChaosBot[]): Promise<Views> {
  const views = await Promise.all(bots.map(viewsOfOne));
  return new Map(views.flat());
}

async function viewsOfOne({ bot, cast }: ChaosBot): Promise<readonly (readonly [string, PlayerView])[]> {
  const guilds = new Set(cast.map(({ guildId }) => guildId));
  for (let attempt = 1; ; attempt++) {
    try {
      return [...(await playersOf(bot))].filter(([guildId]) => guilds.has(guildId));
    } catch (error) {
      if (attempt === TRIES) throw new Error("the players of a session cannot be listed", { cause: error });
    }
    await sleep(AGAIN_MS);
  }
}

function endingOf(context: {
  readonly bot: ChaosBot;
  readonly player: CastPlayer;
  readonly surroundings: Surroundings;
  readonly after: Views;
  readonly nowMs: number;
}): Ending {
  const { bot, player, surroundings, after, nowMs } = context;
  const { guildId } = player;
  const { last: heard } = surroundings.earOf(guildId);
  const isHeard = heard !== undefined && heard.atMs >= nowMs - RECENT_MS;
  const told = bot.told.filter((message) => message.guildId === guildId);
  return { player, view: after.get(guildId), heard, isHeard, told, hasSession: bot.hasSession };
}

/** Enough machines were there at all times: nothing excuses the end of a player. */
function lossOf(outcome: Outcome, ending: Ending | undefined): readonly string[] {
  if (typeof outcome !== "string") return [outcome.loss];
  if (outcome === "plays" || ending === undefined) return [];
  const told = ending.told.map(({ type, reason }) => [type, reason].join(" ")).join(", ");
  return [`player ${ending.player.guildId} has ended, and its client was told once: ${told || "its session is gone"}`];
}

/** What the tuners have changed is theirs to judge. */
function withTuned(before: Views, after: Views, tuned: ReadonlyMap<string, unknown>): Views {
  return new Map(
    [...before].map(([guildId, view]) => {
      const now = tuned.has(guildId) ? after.get(guildId) : undefined;
      return [
        guildId,
        now === undefined ? view : { ...view, volume: now.volume, filters: Reflect.get(now, "filters") },
      ];
    }),
  );
}
