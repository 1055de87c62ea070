// The Stats object of the protocol (protocol-v4.md section 3.7). Main thread.

import type { OverloadJson } from "./node-load-json.ts";

/** Frames of the last whole minute, averaged over the session's players (protocol-v4.md section 4.5). */
export interface FrameStatsJson {
  readonly sent: number;
  readonly nulled: number;
  readonly deficit: number;
}

/** `frameStats` is null in the answer of REST, and in messages until a whole minute has been counted. */
export interface StatsJson {
  readonly frameStats: FrameStatsJson | null;
  readonly players: number;
  readonly playingPlayers: number;
  /** Milliseconds. */
  readonly uptime: number;
  /** Bytes. */
  readonly memory: {
    readonly free: number;
    readonly used: number;
    readonly allocated: number;
    readonly reservable: number;
  };
  readonly cpu: {
    readonly cores: number;
    /** Share of all cores that is busy, 0 to 1. */
    readonly systemLoad: number;
    /** Share of all cores that this process uses, 0 to 1. */
    readonly lavalinkLoad: number;
  };
  /** Only while the node holds back (node-load-json.ts). */
  readonly tonearm?: OverloadJson | undefined;
}
