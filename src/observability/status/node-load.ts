// The load of the node, for operators, and for clients while it refuses players. Main thread; read by node.ts.

import type { LoadJson, OverloadJson } from "../../control/protocol/node-load-json.ts";
import type { PoolLoad } from "../../control/workers/worker-pool.ts";

/** For `GET /v4/tonearm/load` and metrics; shares and milliseconds are rounded to three digits. */
export function loadToJson({
  workers,
  hasSpare,
  complexity,
  complexityMax,
  movedCount,
  refusedCount,
  hasCapacity,
}: PoolLoad): LoadJson {
  return {
    hasCapacity,
    refused: refusedCount,
    moved: movedCount,
    encoder: { complexity, complexityMax },
    hasSpareWorker: hasSpare,
    workers: workers.map(({ index, isIsolated, isReady, playerCount, counters }) => ({
      index,
      isIsolated,
      isReady,
      players: playerCount,
      playingPlayers: counters?.playingCount ?? 0,
      load: rounded(counters?.threadLoad ?? 0),
      tickLoad: rounded(counters?.tickLoad ?? 0),
      latenessP99: rounded(counters?.latenessMsP99 ?? 0),
      latenessMax: rounded(counters?.latenessMsMax ?? 0),
      framesSent: counters?.framesSent ?? 0,
      framesLost: counters?.framesLost ?? 0,
    })),
  };
}

/** Undefined while all is as it should be: clients then see the Stats they know. */
export function overloadToJson({ hasCapacity, complexity, complexityMax }: PoolLoad): OverloadJson | undefined {
  return hasCapacity && complexity === complexityMax ? undefined : { hasCapacity, complexity, complexityMax };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
