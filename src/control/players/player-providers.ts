// What players stand on: who makes their sound, and who finds their tracks. Main thread; control/workers/worker-pool.ts
// and control/sources/track-loader.ts are the real ones.

import type { PlayableInput } from "../../bridge/playable-input.ts";
import type { Incident } from "../../bridge/sound-report.ts";
import type { Track } from "../../track/track.ts";
import type { LoadResult } from "../sources/load-result.ts";
import type { LoadOptions } from "../sources/track-loader.ts";
import type { WorkerTenant } from "../workers/worker-handle.ts";
import type { TenantPlace } from "../workers/worker-pool.ts";

/** What a player needs of the WorkerPool. */
export interface WorkerProvider {
  attach(tenant: WorkerTenant): void;
  detach(tenant: WorkerTenant): void;
  /** Gives the player a worker of its own; false, and nothing was done: as many as may have one do. */
  isolate(tenant: WorkerTenant): boolean;
  admit(tenant: WorkerTenant): void;
  placeOf(tenant: WorkerTenant): TenantPlace | undefined;
  addIncident(incident: Incident): void;
}

/** What a player needs of the TrackLoader. */
export interface TrackProvider {
  load(identifier: string, options: LoadOptions): Promise<LoadResult>;
  /** Throws a NodeError for tracks that this node cannot play. */
  playableInput(track: Track): PlayableInput;
}
