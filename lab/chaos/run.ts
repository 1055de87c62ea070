// A run of the chaos lab: bots with players, events at the times of the schedule, and when all is quiet again, what was
// lost. Lab only.

import { monitorEventLoopDelay } from "node:perf_hooks";
import { opusPacketNumber } from "../media-files/counted-song.ts";
import { castOf } from "../restart/cast.ts";
import { untilAllHeard } from "../restart/crowd.ts";
import { seededRandom } from "../seeded-random.ts";
import { sleep } from "../sleep.ts";
import { ChaosBot, type ChaosBotOptions } from "./chaos-bot.ts";
import { type EndResult, judgeEnd, levelsOf, viewsOf } from "./end.ts";
import { sayFarewell } from "./farewell.ts";
import { Loudness } from "./loudness.ts";
import { type ChaosEvent, drawSchedule } from "./schedule.ts";
import { Senders } from "./senders.ts";
import { judgeSound, type SoundResult } from "./sound.ts";
import { SoundLog } from "./sound-log.ts";
import { openStage, type Stage, type StageOptions } from "./stage.ts";
import { Striker } from "./striker.ts";
import type { TunerAnswer } from "./tuner.ts";
import { type DoubleSending, doubleSendingLosses, misplacedLosses, refusedLosses } from "./verdict.ts";

export interface ChaosOptions extends StageOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly players: number;
  readonly bots: number;
  /** Of events, as `EventName`. Default: all. */
  readonly names?: ReadonlySet<string> | undefined;
  readonly report: (line: string) => void;
}

export interface ChaosResult extends EndResult {
  readonly sound: SoundResult;
  readonly doubleSendings: readonly DoubleSending[];
  /** Starts and ends, of short songs and of players that come and go, that were compared. */
  readonly events: number;
  /** Players that were made and destroyed. */
  readonly visits: number;
  readonly returnsMs: readonly number[];
  readonly failures: readonly string[];
  readonly answers: readonly TunerAnswer[];
  readonly packets: number;
  /** Of this process, which is Discord and all clients: packets that it reads late are not late. */
  readonly labDelayMs: { readonly p99: number; readonly max: number };
  /** Kinds of what a real Discord would have refused. */
  readonly violations: readonly string[];
}

const FIRST_JUKEBOX_GUILD = 500_000;
const FIRST_GUEST_GUILD = 600_000;
const PLAYERS_PER_JUKEBOX = 10;
const CONNECTED_MS_MAX = 90_000;
/** After the last event: sessions and players have found their places. */
const SETTLE_MS = 10_000;
/** Of sound, before it is measured how loud it is. */
const FIRST_SECOND_MS = 1500;
const DELAY_RESOLUTION_MS = 5;
const NANOSECONDS = 1e6;

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const stage = await openStage(options);
  const senders = new Senders(stage.surroundings.discord, stage.machines);
  const bots: ChaosBot[] = [];
  try {
    const sounds = new SoundLog();
    const loudness = new Loudness();
    const random = seededRandom(options.seed);
    const durationMs = options.minutes * 60_000;
    const schedule = drawSchedule({ subjects: stage.subjects, durationMs, names: options.names, random });
    const parts = partsOf(options, random);
    const decoded = new Set(
      parts.flatMap(({ cast }) => cast.flatMap((player) => (player.isCounted ? [] : player.guildId))),
    );
    const counted = new Set(
      parts.flatMap(({ cast }) => cast.flatMap((player) => (player.isCounted ? player.guildId : []))),
    );
    stage.surroundings.onFrame = (guildId, frame) => {
      if (frame.isSilence) return;
      const number = counted.has(guildId) ? opusPacketNumber(frame.opus) : undefined;
      sounds.hear(guildId, { ...frame, number });
      if (decoded.has(guildId)) loudness.hear(guildId, frame.opus);
    };
    for (const part of parts) {
      const { surroundings, balancer } = stage;
      const ground = { surroundings, balancer, number: bots.length, random };
      bots.push(await ChaosBot.open({ ...ground, ...part }));
    }
    options.report(`${options.players} players of ${bots.length} bots play`);
    return await play({ stage, senders, sounds, loudness, bots, schedule, durationMs, report: options.report });
  } finally {
    for (const bot of bots) bot.close();
    senders.close();
    await stage.close();
  }
}

interface Run {
  readonly stage: Stage;
  readonly senders: Senders;
  readonly sounds: SoundLog;
  readonly loudness: Loudness;
  readonly bots: readonly ChaosBot[];
  readonly schedule: readonly ChaosEvent[];
  readonly durationMs: number;
  readonly report: (line: string) => void;
}

async function play(run: Run): Promise<ChaosResult> {
  const { stage, senders, sounds, loudness, bots, schedule, durationMs } = run;
  const { discord } = stage.surroundings;
  const cast = bots.flatMap((bot) => bot.cast);
  await sleep(FIRST_SECOND_MS);
  const before = { views: await viewsOf(bots), levels: await levelsOf(loudness, cast) };
  discord.clearOverlaps();
  for (const { guildId } of cast) stage.surroundings.earOf(guildId).listenAgain();
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  const startedMs = performance.now();
  for (const bot of bots) bot.start();
  const striker = new Striker(stage, run.report);
  await striker.run(schedule, startedMs);
  await sleep(Math.max(0, startedMs + durationMs - performance.now()));
  run.report(`${Math.round((performance.now() - startedMs) / 1000)} s: all is there again`);

  const silentBots = await settle(run);
  const endedMs = performance.now();
  delay.disable();
  await senders.look();
  const sound = judgeSound({
    guildIds: cast.filter(({ rate }) => rate > 0).map(({ guildId }) => guildId),
    interruptions: sounds.interruptions.filter(({ fromMs }) => fromMs >= startedMs),
    happenings: striker.happenings,
    sendings: senders.sendings,
    fromMs: startedMs,
    toMs: endedMs,
  });
  const end = await judgeEnd({ surroundings: stage.surroundings, loudness, bots, before });
  const farewell = await sayFarewell({ surroundings: stage.surroundings, machines: stage.machines, bots });
  const { doubleSendings } = senders;
  const guests = bots.flatMap((bot) => bot.guests);
  return {
    ...end,
    sound,
    doubleSendings,
    events: [...bots.flatMap(({ jukeboxes }) => jukeboxes), ...guests].reduce(
      (sum, { eventCount }) => sum + eventCount,
      0,
    ),
    visits: guests.reduce((sum, { visits }) => sum + visits, 0),
    returnsMs: bots.flatMap(({ returnsMs }) => returnsMs),
    failures: bots.flatMap(({ failures }) => failures),
    answers: bots.flatMap(({ tuners }) => tuners.flatMap(({ answers }) => answers)),
    packets: sounds.packetCount,
    labDelayMs: { p99: delay.percentile(99) / NANOSECONDS, max: delay.max / NANOSECONDS },
    violations: discord.violations.map(({ kind }) => kind),
    losses: [
      ...striker.losses,
      ...silentBots,
      ...bots.flatMap(({ losses }) => losses),
      ...[...guests, ...bots.flatMap(({ tuners }) => tuners)].flatMap(({ losses }) => losses),
      ...doubleSendingLosses(doubleSendings, startedMs),
      ...misplacedLosses(senders.sendings, stage.subjects),
      ...refusedLosses(discord.violations, startedMs),
      ...sound.losses,
      ...end.losses,
      ...farewell,
    ],
  };
}

/** Waits until nothing changes any more; returns who does not get that far. */
async function settle({ bots, stage }: Run): Promise<readonly string[]> {
  await Promise.all(bots.map((bot) => bot.settle()));
  const connected = await Promise.all(bots.map((bot) => bot.untilConnected(CONNECTED_MS_MAX)));
  await sleep(SETTLE_MS);
  const jukeboxes = bots.flatMap((bot) => (bot.hasSession ? bot.jukeboxes : []));
  const all = [...bots.flatMap(({ cast }) => cast), ...jukeboxes.map(({ guildId }) => ({ guildId, rate: 1 }))];
  const silent = await untilAllHeard(stage.surroundings, all, performance.now());
  return [
    ...bots.filter((_, index) => !connected[index]).map(({ userId }) => `bot ${userId} has no connection in the end`),
    ...jukeboxes
      .filter(({ guildId }) => silent.includes(guildId))
      .map(({ guildId }) => `guild ${guildId}: no song is heard in the end`),
  ];
}

/**
 * The players of each bot: those of all kinds come first in each, and of so many one plays short songs. As many come and
 * go.
 */
function partsOf(
  { players, bots }: ChaosOptions,
  random: () => number,
): readonly Pick<ChaosBotOptions, "cast" | "jukeboxGuilds" | "guestGuilds">[] {
  const jukeboxes = Math.max(bots, Math.round(players / PLAYERS_PER_JUKEBOX));
  const cast = castOf(Math.max(bots, players - jukeboxes), random);
  const guildsFrom = (first: number): readonly string[] =>
    Array.from({ length: jukeboxes }, (_, index) => String(first + index));
  const share = <T>(all: readonly T[], bot: number): readonly T[] => all.filter((_, index) => index % bots === bot);
  return Array.from({ length: bots }, (_, bot) => ({
    cast: share(cast, bot),
    jukeboxGuilds: share(guildsFrom(FIRST_JUKEBOX_GUILD), bot),
    guestGuilds: share(guildsFrom(FIRST_GUEST_GUILD), bot),
  }));
}
