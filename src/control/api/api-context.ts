// What the REST routes and the WebSocket end point work on, handed in once by the node. Main thread.

import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { LoadResult } from "../sources/load-result.ts";
import type { InfoJson } from "./info-json.ts";

/** Where tracks come from; control/sources/track-loader.ts is the real one. */
export interface TrackLookup {
  /** Failures to load are results, not errors. */
  load(identifier: string): Promise<LoadResult>;
}

export interface ApiContext {
  readonly sessions: Sessions;
  readonly tracks: TrackLookup;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names of filters that the configuration has switched off. */
  readonly disabledFilters: ReadonlySet<string>;
  readInfo(): InfoJson;
}
