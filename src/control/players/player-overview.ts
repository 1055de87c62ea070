// A summary of a player, for lists of many players. Main thread.

import type { Track } from "../../track/track.ts";
import type { AudioOverview } from "./player-diagnosis.ts";

/** Cheap to make: a node has thousands. */
export interface PlayerOverview {
  /** Undefined: nothing is loaded. */
  readonly track: Track | undefined;
  readonly positionMs: number;
  readonly isPaused: boolean;
  /** The voice connection is open. */
  readonly isConnected: boolean;
  /** The index of the worker that renders its audio; undefined while it waits for one. */
  readonly worker: number | undefined;
  /** Isolated from the other players. */
  readonly isIsolated: boolean;
  readonly audio: AudioOverview;
}
