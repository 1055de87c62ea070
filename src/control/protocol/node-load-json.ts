// How busy the node is, for those who run it: GET /v4/tonearm/load, and the hint in Stats while it holds back. Main
// thread; made in control/about.

/** The answer of `GET /v4/tonearm/load`, and the source of the `tonearm_*` metrics. */
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

/** One audio worker; figures are those of its last report, 0 before the first. */
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
