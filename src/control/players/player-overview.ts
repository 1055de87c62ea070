// How a player does, in short, for whoever looks at many. Main thread.

import type { Track } from "../../track/track.ts";
import type { AudioOverview } from "./player-diagnosis.ts";

/** Cheap to make: a node has thousands. */
export interface PlayerOverview {
  /** Undefined: nothing is loaded. */
  readonly track: Track | undefined;
  readonly positionMs: number;
  readonly isPaused: boolean;
  /** Its voice connection is there. */
  readonly isConnected: boolean;
  /** That makes its sound; undefined while it waits for one. */
  readonly worker: number | undefined;
  /** Kept apart from the others. */
  readonly isIsolated: boolean;
  readonly audio: AudioOverview;
}
