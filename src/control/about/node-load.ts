// How busy the node is, for those who run it and for clients while it holds back. Main thread; asked for by node.ts.

import type { LoadJson, OverloadJson } from "../protocol/node-load-json.ts";
import type { PoolLoad } from "../workers/worker-pool.ts";

/** For `GET /v4/tonearm/load` and metrics; shares and milliseconds are rounded to three digits. */
export function loadToJson({
  workers,
  hasSpare,
  complexity,
  complexityMax,
  movedCount,
  refusedCount,
  hasRoom,
}: PoolLoad): LoadJson {
  return {
    hasRoom,
    refused: refusedCount,
    moved: movedCount,
    encoder: { complexity, complexityMax },
    hasSpareWorker: hasSpare,
    workers: workers.map(({ index, isAlone, isReady, playerCount, counters }) => ({
      index,
      isAlone,
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
export function overloadToJson({ hasRoom, complexity, complexityMax }: PoolLoad): OverloadJson | undefined {
  return hasRoom && complexity === complexityMax ? undefined : { hasRoom, complexity, complexityMax };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
