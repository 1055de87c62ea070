// The rounds of the cluster lab: bots with players behind a balancer, and one machine after the other ends. Its sessions
// must be resumed on the others, with all that was asked for, and nobody may be sent to from two machines. Lab only.

import { type CastPlayer, castOf } from "../restart/cast.ts";
import { assemble, endTimesLost } from "../restart/crowd.ts";
import { Surroundings } from "../restart/surroundings.ts";
import { seededRandom } from "../seeded-random.ts";
import { Balancer } from "./balancer.ts";
import { ClusterBot } from "./cluster-bot.ts";
import { Jukebox } from "./jukebox.ts";
import { equalMachines, type Machine, Machines } from "./machines.ts";
import { NatsServers } from "./nats-servers.ts";
import { type MachineEnd, type Round, type RoundGround, runRound } from "./round.ts";

export interface ClusterRoundsOptions {
  readonly machines: number;
  readonly players: number;
  readonly rounds: number;
  readonly end: MachineEnd;
  readonly seed: number;
  readonly hasDave: boolean;
  readonly natsServers: 1 | 3;
  /** Folder for the machines' log files. Default: none. */
  readonly logFolder?: string | undefined;
  readonly report: (line: string) => void;
}

export interface ClusterRoundsResult {
  readonly rounds: readonly Round[];
  /** Starts and ends of short songs that were compared. */
  readonly events: number;
  /** Kinds of what a real Discord would have refused. */
  readonly violations: readonly string[];
  readonly losses: readonly string[];
}

const BOTS_PER_MACHINE = 2;
const FIRST_JUKEBOX_GUILD = 500_000;
const ATTEND_MS = 40;
const LOSSES_SHOWN = 12;

export async function runClusterRounds(options: ClusterRoundsOptions): Promise<ClusterRoundsResult> {
  const closing: (() => Promise<void>)[] = [];
  try {
    const surroundings = await Surroundings.start({ hasDave: options.hasDave });
    closing.push(() => surroundings.close());
    const nats = await NatsServers.start({ count: options.natsServers });
    closing.push(() => nats.close());
    const machines = await Machines.start({
      plans: equalMachines(options.machines, nats.urls),
      logFolder: options.logFolder,
    });
    closing.push(() => machines.close());
    const balancer = await Balancer.start(machines.all);
    closing.push(() => balancer.close());
    return await play({ surroundings, machines: machines.all, balancer, options });
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

interface Ground {
  readonly surroundings: Surroundings;
  readonly machines: readonly Machine[];
  readonly balancer: Balancer<Machine>;
  readonly options: ClusterRoundsOptions;
}

async function play({ surroundings, machines, balancer, options }: Ground): Promise<ClusterRoundsResult> {
  const bots: ClusterBot[] = [];
  const jukeboxes = new Map<ClusterBot, Jukebox>();
  for (const [number, cast] of castsOf(options).entries()) {
    balancer.only(...machines.slice(number % machines.length).slice(0, 1));
    const bot = await ClusterBot.open(balancer, number, cast);
    balancer.all();
    bots.push(bot);
    await assemble(bot.bot, surroundings, cast);
    const jukebox = new Jukebox(String(FIRST_JUKEBOX_GUILD + number), surroundings);
    await jukebox.begin(bot.bot);
    jukeboxes.set(bot, jukebox);
  }
  const attending = setInterval(() => {
    for (const [bot, jukebox] of jukeboxes) jukebox.attend(bot.bot);
  }, ATTEND_MS);
  try {
    const rounds: Round[] = [];
    const ground: RoundGround = { surroundings, balancer, bots, jukeboxes, end: options.end };
    for (let number = 1; number <= options.rounds; number++) {
      const machine = machines[(number - 1) % machines.length];
      if (machine === undefined) throw new Error("there are machines");
      const round = await runRound(ground, machine);
      rounds.push(round);
      options.report(roundLine(number, round));
      for (const loss of round.losses.slice(0, LOSSES_SHOWN)) options.report(`  LOSS ${loss}`);
    }
    const endLosses = (await Promise.all(bots.map(({ bot, cast }) => endTimesLost(bot, cast)))).flat();
    const losses = rounds.flatMap((round, index) => round.losses.map((loss) => `round ${index + 1}: ${loss}`));
    return {
      rounds,
      events: [...jukeboxes.values()].reduce((sum, { eventCount }) => sum + eventCount, 0),
      violations: surroundings.discord.violations.map(({ kind }) => kind),
      losses: [...losses, ...endLosses],
    };
  } finally {
    clearInterval(attending);
    for (const bot of bots) bot.close();
  }
}

/** The players of each bot: those of all kinds come first in each. */
function castsOf({ players, machines, seed }: ClusterRoundsOptions): readonly (readonly CastPlayer[])[] {
  const cast = castOf(players, seededRandom(seed));
  const bots = Math.min(players, machines * BOTS_PER_MACHINE);
  return Array.from({ length: bots }, (_, bot) => cast.filter((_player, index) => index % bots === bot));
}

function roundLine(number: number, round: Round): string {
  const resumed = round.resumedMs.length;
  return (
    `round ${number}: ${round.machine} ended with ${round.sessions} sessions, ${round.players} players; ` +
    `${resumed} resumed, ${round.gapsMs.length} players heard again, ${round.losses.length} losses`
  );
}
