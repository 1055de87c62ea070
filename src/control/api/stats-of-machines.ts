// The Stats of all machines of a cluster together, for GET /v4/stats?machines=all. Main thread.

import { z } from "zod";
import { count, share } from "../protocol/json-of.ts";
import type { StatsJson } from "../protocol/stats-json.ts";

/** What is read of them; a machine of another version may say more. */
const readStats = z.object({
  players: count,
  playingPlayers: count,
  uptime: count,
  memory: z.object({ free: count, used: count, allocated: count, reservable: count }),
  cpu: z.object({ cores: count, systemLoad: share, lavalinkLoad: share }),
});

/**
 * Players, memory and cores are sums, the loads shares of all cores of the machines, `uptime` is that of the machine that
 * was started last. `frameStats` is null, as of one machine.
 */
export function statsOfMachines(answers: readonly unknown[]): StatsJson {
  const all = answers.flatMap((answer) => readStats.safeParse(answer).data ?? []);
  const sum = (partOf: (stats: z.output<typeof readStats>) => number): number =>
    all.reduce((total, stats) => total + partOf(stats), 0);
  const cores = sum(({ cpu }) => cpu.cores);
  const shareOf = (busyCores: number): number => (cores === 0 ? 0 : Math.min(1, busyCores / cores));
  return {
    frameStats: null,
    players: sum(({ players }) => players),
    playingPlayers: sum(({ playingPlayers }) => playingPlayers),
    uptime: all.length === 0 ? 0 : Math.min(...all.map(({ uptime }) => uptime)),
    memory: {
      free: sum(({ memory }) => memory.free),
      used: sum(({ memory }) => memory.used),
      allocated: sum(({ memory }) => memory.allocated),
      reservable: sum(({ memory }) => memory.reservable),
    },
    cpu: {
      cores,
      systemLoad: shareOf(sum(({ cpu }) => cpu.systemLoad * cpu.cores)),
      lavalinkLoad: shareOf(sum(({ cpu }) => cpu.lavalinkLoad * cpu.cores)),
    },
  };
}
