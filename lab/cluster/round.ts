// One round of the cluster lab: a machine is killed, ended or paused; its bots come back through the balancer; what of
// theirs is there again is compared with what was there before, and the machine comes back. Lab only.

import { DEAD_MS, RENEW_MS } from "../../src/cluster/lease-times.ts";
import type { StreamOverlap } from "../discord/stream-overlaps.ts";
import type { CastPlayer } from "../restart/cast.ts";
import {
  AUDIBLE_MS_MAX,
  compare,
  eventCount,
  eventTypes,
  heardErrors,
  playersOf,
  positionErrors,
  untilAllHeard,
  type Views,
} from "../restart/crowd.ts";
import type { Surroundings } from "../restart/surroundings.ts";
import { sleep } from "../sleep.ts";
import type { Balancer } from "./balancer.ts";
import type { ClusterBot, Return } from "./cluster-bot.ts";
import type { Jukebox } from "./jukebox.ts";
import type { Machine } from "./machines.ts";

/** How a machine ends; `pause`: it is stopped for a while, and goes on when others have taken its sessions. */
export type MachineEnd = "kill" | "term" | "pause";

/** Times in milliseconds, from the end (or pause) of the machine where not said otherwise. */
export interface Round {
  readonly machine: string;
  /** Sessions of bots that were connected to it, and their players; jukeboxes not counted. */
  readonly sessions: number;
  readonly players: number;
  /** Until each of these bots had its `ready`, with its session. */
  readonly resumedMs: readonly number[];
  /** Attempts to connect that failed before that, by reason. */
  readonly failures: readonly string[];
  /** The longest silence of each playing player of the machine, and of those of other machines. */
  readonly gapsMs: readonly number[];
  readonly gapsElsewhereMs: readonly number[];
  /** How far positions are from where they would be without the round; above 0: ahead. Reported, and heard. */
  readonly positionErrorsMs: readonly number[];
  readonly heardErrorsMs: readonly number[];
  /** Voice handshakes of each player of the machine. */
  readonly joins: readonly number[];
  /** A guild that was sent to by two connections: for how long, and how many packets. */
  readonly overlapsMs: readonly number[];
  readonly overlapPackets: readonly number[];
  /** What a paused machine sent after it woke, until when after that; jukeboxes included. */
  readonly wokenPackets: number;
  readonly wokenForMs: number;
  readonly losses: readonly string[];
}

export interface RoundGround {
  readonly surroundings: Surroundings;
  readonly balancer: Balancer<Machine>;
  readonly bots: readonly ClusterBot[];
  readonly jukeboxes: ReadonlyMap<ClusterBot, Jukebox>;
  readonly end: MachineEnd;
}

const PAUSE_MS = 15_000;
/** Nobody joins voice for the players of a machine earlier that has ended so; its calls find nobody for 600 ms. */
const NOTICED_MS: Readonly<Record<MachineEnd, number>> = { kill: 600, pause: DEAD_MS - RENEW_MS, term: 0 };
/** Longer than a player takes to be interrupted once more, should its session move again. */
const SETTLE_MS = 2000;
const RECENT_MS = 300;
/** A datagram of the older stream may be read after one of the newer one that has come to another socket. */
const OVERLAP_TOLERANCE_MS = 20;
/** Players of machines that go on are not interrupted; the lab's process may be busy for so long. */
const ELSEWHERE_MS_MAX = 1500;
const JOINS_MAX = 2;
/** A process may stand still between looking at the end of its lease and handing a packet to the system: in one place. */
const WOKEN_PACKETS_MAX = 1;

export async function runRound(ground: RoundGround, machine: Machine): Promise<Round> {
  const { surroundings, bots, end } = ground;
  const cast = bots.flatMap((bot) => bot.cast);
  await untilAllHeard(surroundings, cast, performance.now() - RECENT_MS);
  const leaving = bots.filter((bot) => bot.machine === machine);
  const staying = bots.filter((bot) => bot.machine !== machine);
  const castThere = leaving.flatMap((bot) => bot.cast);
  const before = await viewsOf(bots);
  const eventsBefore = new Map(bots.map((bot) => [bot.bot, eventsOf(bot)]));
  const joinsBefore = joinsOf(surroundings, castThere);
  surroundings.discord.clearOverlaps();
  for (const { guildId } of cast) surroundings.earOf(guildId).listenAgain();

  const endedMs = performance.now();
  const wokenMs = await endMachine(ground, machine, { leaving, castThere });
  const returns = await Promise.all(leaving.map((bot) => comeBack(bot, ground.jukeboxes.get(bot))));
  const silent = await untilAllHeard(surroundings, cast, performance.now());
  await sleep(SETTLE_MS);
  silent.push(...(await untilAllHeard(surroundings, cast, performance.now())));

  const losses = returns.flatMap(({ losses: lost }) => lost);
  if (silent.length > 0) losses.push(`${silent.length} players were silent for ${AUDIBLE_MS_MAX / 1000} s: ${silent}`);
  const after = await viewsOf(bots);
  losses.push(...compare(before, after, cast));
  const gapOf = ({ guildId }: CastPlayer): number => surroundings.earOf(guildId).longestGapMs;
  const silenceOf = ({ guildId }: CastPlayer): number => surroundings.earOf(guildId).silentMs;
  const playing = castThere.filter(({ rate }) => rate > 0);
  // Also of players elsewhere: on a busy machine each loses some frames, and is behind by those.
  const lateMs = (player: CastPlayer): number =>
    Math.max(0, silenceOf(player) - (castThere.includes(player) ? NOTICED_MS[end] : 0));
  const joiningMs = new Map(cast.map((player) => [player.guildId, lateMs(player)]));
  const positions = positionErrors({ before, after, cast, joiningMs });
  losses.push(...positions.losses);
  for (const bot of bots) losses.push(...eventLosses(bot, eventsBefore.get(bot.bot) ?? 0));
  for (const [bot, jukebox] of ground.jukeboxes) losses.push(...(await jukebox.judge(bot.bot)));

  const joinsAfter = joinsOf(surroundings, castThere);
  const joins = castThere.map((_, index) => (joinsAfter[index] ?? 0) - (joinsBefore[index] ?? 0));
  const often = castThere.filter((_, index) => (joins[index] ?? 0) > JOINS_MAX);
  if (often.length > 0) losses.push(`${often.length} players joined more than ${JOINS_MAX} times`);
  const { overlaps } = surroundings.discord;
  losses.push(...overlapLosses(overlaps, wokenMs));
  const wokenPackets = wokenMs === undefined ? 0 : overlaps.reduce((sum, { packets }) => sum + packets, 0);
  if (wokenPackets > WOKEN_PACKETS_MAX)
    losses.push(`the woken machine sent ${wokenPackets} packets for players that another one had begun`);
  const gapsElsewhereMs = staying.flatMap((bot) => bot.cast.filter(({ rate }) => rate > 0).map(gapOf));
  const interrupted = gapsElsewhereMs.filter((gapMs) => gapMs > ELSEWHERE_MS_MAX);
  if (interrupted.length > 0)
    losses.push(`${interrupted.length} players of other machines were interrupted: ${interrupted.map(Math.round)} ms`);
  await bringBack(ground, machine);
  return {
    machine: machine.name,
    sessions: leaving.length,
    players: castThere.length,
    resumedMs: returns.flatMap(({ isResumed, readyMs }) => (isResumed ? [readyMs - endedMs] : [])),
    failures: returns.flatMap(({ failures }) => failures),
    gapsMs: playing.map(gapOf),
    gapsElsewhereMs,
    positionErrorsMs: positions.errorsMs,
    heardErrorsMs: heardErrors({ before, cast: playing, surroundings, packetOf: (ear) => ear.afterGap }),
    joins,
    overlapsMs: overlaps.map(({ fromMs, toMs }) => toMs - fromMs),
    overlapPackets: overlaps.map(({ packets }) => packets),
    wokenPackets,
    wokenForMs: wokenMs === undefined ? 0 : Math.max(0, ...overlaps.map(({ toMs }) => toMs - wokenMs)),
    losses,
  };
}

/** Resolves with when it went on, if it was paused: then its players have been heard from another machine before. */
async function endMachine(
  { surroundings, balancer, end, jukeboxes }: RoundGround,
  machine: Machine,
  { leaving, castThere }: { readonly leaving: readonly ClusterBot[]; readonly castThere: readonly CastPlayer[] },
): Promise<number | undefined> {
  const startedMs = performance.now();
  if (end !== "pause") {
    await machine.runs.end(end === "kill" ? "SIGKILL" : "SIGTERM");
    for (const bot of leaving) jukeboxes.get(bot)?.processEnded();
    return undefined;
  }
  // A balancer asks machines whether they are well, and this one does not answer.
  balancer.only(...balancer.machines.filter((other) => other !== machine));
  machine.runs.pause();
  for (const bot of leaving) jukeboxes.get(bot)?.processEnded();
  await untilAllHeard(surroundings, castThere, startedMs + RECENT_MS);
  await sleep(Math.max(0, startedMs + PAUSE_MS - performance.now()));
  const wokenMs = performance.now();
  machine.runs.wake();
  return wokenMs;
}

async function bringBack({ balancer, end }: RoundGround, machine: Machine): Promise<void> {
  if (end === "pause") await machine.untilReady();
  else await machine.start();
  balancer.all();
}

/** A bot whose machine has ended; in a new session it has nothing. */
async function comeBack(
  bot: ClusterBot,
  jukebox: Jukebox | undefined,
): Promise<Return & { readonly losses: readonly string[] }> {
  const losses: string[] = [];
  const returned = await bot.comeBack();
  if (!returned.isResumed) {
    losses.push(`the session of bot ${bot.userId} was not resumed`);
    jukebox?.forget();
    await bot.begin();
  }
  return { ...returned, losses };
}

async function viewsOf(bots: readonly ClusterBot[]): Promise<Views> {
  const views = await Promise.all(bots.map(({ bot }) => playersOf(bot)));
  const players = views.flatMap((view) => [...view]);
  const guilds = new Set(bots.flatMap(({ cast }) => cast.map(({ guildId }) => guildId)));
  return new Map(players.filter(([guildId]) => guilds.has(guildId)));
}

/** Voice handshakes so far. */
function joinsOf({ discord }: Surroundings, cast: readonly CastPlayer[]): readonly number[] {
  return cast.map(({ guildId }) => discord.session(guildId).identifyCount);
}

/** Events of the players that play long songs: there should be none. */
function eventsOf({ bot, cast }: ClusterBot): number {
  const guilds = new Set(cast.map(({ guildId }) => guildId));
  return eventCount(bot, (guildId) => guilds.has(guildId));
}

function eventLosses(bot: ClusterBot, before: number): readonly string[] {
  const guilds = new Set(bot.cast.map(({ guildId }) => guildId));
  const types = eventTypes(bot.bot, before, (guildId) => guilds.has(guildId));
  return types === "" ? [] : [`bot ${bot.userId} got events: ${types}`];
}

/** At no time may two connections send to one guild. What a machine sends when it wakes is counted apart. */
function overlapLosses(overlaps: readonly StreamOverlap[], wokenMs: number | undefined): readonly string[] {
  return overlaps
    .filter(({ fromMs, toMs }) => toMs - fromMs > OVERLAP_TOLERANCE_MS && (wokenMs === undefined || toMs < wokenMs))
    .map(({ guildId, fromMs, toMs, packets }) => {
      return `guild ${guildId} was sent to by two connections for ${Math.round(toMs - fromMs)} ms (${packets} packets)`;
    });
}
