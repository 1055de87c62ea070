// How busy the node is, for those who run it: GET /v4/tonearm/load, and the hint in Stats while it holds back. Main thread.

import type { PoolLoad } from "../workers/worker-pool.ts";

export interface LoadJson {
  /** False: a player that is silent now would be refused with `node-overloaded`. */
  readonly hasRoom: boolean;
  /** Starts that were refused so far. */
  readonly refused: number;
  /** Players whose sound has gone to a thread with less to do, while they were heard. */
  readonly moved: number;
  readonly encoder: {
    /** Of Opus encoders, 0 to 10: what they work at now, and what is configured. */
    readonly complexity: number;
    readonly complexityMax: number;
  };
  /** A worker waits to take the place of one that is lost. */
  readonly hasSpareWorker: boolean;
  readonly workers: readonly WorkerLoadJson[];
}

export interface WorkerLoadJson {
  readonly index: number;
  /** It has one player, which is kept apart from the others. */
  readonly isAlone: boolean;
  readonly isReady: boolean;
  readonly players: number;
  readonly playingPlayers: number;
  /** Shares of a core: all it does, and what of that is making and sending frames. */
  readonly load: number;
  readonly tickLoad: number;
  /** Milliseconds, over the last half second. */
  readonly latenessP99: number;
  readonly latenessMax: number;
  /** Since the worker started. */
  readonly framesSent: number;
  readonly framesLost: number;
}

/** Part of Stats only while the node holds back. */
export interface OverloadJson {
  readonly hasRoom: boolean;
  readonly complexity: number;
  readonly complexityMax: number;
}

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
