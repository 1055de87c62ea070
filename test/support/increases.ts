// The increases in a report of a player.

import { PLAYER_COUNTERS, type PlayerCounts } from "../../src/bridge/audio-metrics.ts";
import type { Increases } from "../../src/bridge/counter-table.ts";

/** All others are 0. */
export function increasesOf(counts: Partial<PlayerCounts>): Increases | undefined {
  return PLAYER_COUNTERS.take({ ...PLAYER_COUNTERS.zero(), ...structuredClone(counts) });
}
