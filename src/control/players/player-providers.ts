// The dependencies of players: workers that render their audio, and loaders that find their tracks. Main thread;
// control/workers/worker-pool.ts and control/sources/track-loader.ts are the real ones.

import type { Incident } from "../../bridge/audio-report.ts";
import type { PlayableInput } from "../../bridge/playable-input.ts";
import type { Track } from "../../track/track.ts";
import type { LoadResult } from "../sources/load-result.ts";
import type { Mirrors } from "../sources/mirrors.ts";
import type { LoadOptions } from "../sources/track-loader.ts";
import type { AdmissionRequest } from "../workers/admission.ts";
import type { PlayerPlacement } from "../workers/placements.ts";
import type { PooledPlayer } from "../workers/worker-handle.ts";

/** The interface that a player needs of the WorkerPool. */
export interface WorkerProvider {
  attach(player: PooledPlayer): void;
  detach(player: PooledPlayer): void;
  /** Moves the player to its own worker. False, without any effect, when the maximum of isolated players is reached. */
  isolate(player: PooledPlayer): boolean;
  admit(player: PooledPlayer, request: AdmissionRequest): Promise<void>;
  placementOf(player: PooledPlayer): PlayerPlacement | undefined;
  addIncident(incident: Incident): void;
}

/** The interface that a player needs of the TrackLoader. */
export interface TrackProvider {
  load(identifier: string, options: LoadOptions): Promise<LoadResult>;
  /** Throws a NodeError for tracks that this node cannot play. */
  playableInput(track: Track): PlayableInput;
}

/** The interface that a player needs of the Mirrors. */
export type MirrorProvider = Pick<Mirrors, "isNeeded" | "isFor" | "find" | "forget" | "count">;
