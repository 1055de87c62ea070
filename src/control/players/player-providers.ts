// What players stand on: who makes their sound, and who finds their tracks. Main thread; control/workers/worker-pool.ts
// and control/sources/track-loader.ts are the real ones.

import type { Incident } from "../../bridge/audio-report.ts";
import type { PlayableInput } from "../../bridge/playable-input.ts";
import type { Track } from "../../track/track.ts";
import type { LoadResult } from "../sources/load-result.ts";
import type { LoadOptions } from "../sources/track-loader.ts";
import type { PlayerPlacement } from "../workers/placements.ts";
import type { PooledPlayer } from "../workers/worker-handle.ts";

/** What a player needs of the WorkerPool. */
export interface WorkerProvider {
  attach(player: PooledPlayer): void;
  detach(player: PooledPlayer): void;
  /** Gives the player a worker of its own; false, and nothing was done: as many as may have one do. */
  isolate(player: PooledPlayer): boolean;
  admit(player: PooledPlayer): void;
  placementOf(player: PooledPlayer): PlayerPlacement | undefined;
  addIncident(incident: Incident): void;
}

/** What a player needs of the TrackLoader. */
export interface TrackProvider {
  load(identifier: string, options: LoadOptions): Promise<LoadResult>;
  /** Throws a NodeError for tracks that this node cannot play. */
  playableInput(track: Track): PlayableInput;
}
