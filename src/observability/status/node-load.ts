// The load of the node, for operators, and for clients while it refuses players. Main thread; read by node.ts.

import { type CauseCounts, missedOf, noLosses, sumOf } from "../../bridge/audio-report.ts";
import type { MachineLoad } from "../../cluster/machine.ts";
import type { LoadJson, OverloadJson, SharedIncidentJson } from "../../control/protocol/node-load-json.ts";
import type { PoolLoad } from "../../control/workers/worker-pool.ts";

interface AudioTrouble {
  readonly lostFrames: CauseCounts;
  readonly sharedIncidents: readonly SharedIncidentJson[];
}

/**
 * For `GET /v4/tonearm/load` and metrics; shares and milliseconds are rounded to three digits. `lostFrames`: of all
 * workers since the node started, those that are gone included; `sharedIncidents`: newest first.
 */
export function loadToJson(
  { workers, hasSpare, complexity, complexityMax, movedCount, refusedCount, hasCapacity }: PoolLoad,
  { lostFrames = noLosses(), sharedIncidents = [] }: Partial<AudioTrouble> = {},
): LoadJson {
  return {
    hasCapacity,
    refused: refusedCount,
    moved: movedCount,
    encoder: { complexity, complexityMax },
    framesLost: missedOf(lostFrames),
    sharedIncidents,
    hasSpareWorker: hasSpare,
    workers: workers.map(({ index, isIsolated, isReady, playerCount, metrics, counts }) => ({
      index,
      isIsolated,
      isReady,
      players: playerCount,
      playingPlayers: metrics?.playingCount ?? 0,
      load: rounded(metrics?.threadLoad ?? 0),
      tickLoad: rounded(metrics?.tickLoad ?? 0),
      latenessP99: rounded(metrics?.latenessMsP99 ?? 0),
      latenessMax: rounded(metrics?.latenessMsMax ?? 0),
      framesSent: counts?.framesSent ?? 0,
      framesLost: counts === undefined ? 0 : sumOf(counts.lostFrames),
    })),
  };
}

/** For the other machines of the cluster. */
export function loadOfMachine(
  { load, loadPerPlayer, hasCapacity }: Pick<PoolLoad, "load" | "loadPerPlayer" | "hasCapacity">,
  sessions: { all(): readonly { readonly players: ReadonlyMap<string, unknown> }[]; readonly isDraining: boolean },
): MachineLoad {
  const playerCount = sessions.all().reduce((sum, { players }) => sum + players.size, 0);
  return { players: playerCount, load, loadPerPlayer, hasCapacity, isDraining: sessions.isDraining };
}

/** Undefined while all is as it should be: clients then see the Stats they know. */
export function overloadToJson({ hasCapacity, complexity, complexityMax }: PoolLoad): OverloadJson | undefined {
  return hasCapacity && complexity === complexityMax ? undefined : { hasCapacity, complexity, complexityMax };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
