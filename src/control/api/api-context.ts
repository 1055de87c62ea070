// What the REST routes and the WebSocket end point work on, handed in once by the node. Main thread.

import type { Clock } from "../../lib/clock.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { TaskSlicer } from "../../lib/task-slicer.ts";
import type { Logger } from "../../log/log.ts";
import type { Json } from "../../plugin-api/plugin.ts";
import type { Limits } from "../access/identity.ts";
import type { InfoJson } from "../protocol/info-json.ts";
import type { LoadJson } from "../protocol/node-load-json.ts";
import type { RoutePlannerJson } from "../protocol/route-planner-json.ts";
import type { PluginJson, SourceJson } from "../protocol/sources-json.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { LoadResult } from "../sources/load-result.ts";
import type { LoadOptions } from "../sources/track-loader.ts";

/** Where tracks come from; control/sources/track-loader.ts is the real one. */
interface TrackProvider {
  /** Failures to load are results, not errors. */
  load(identifier: string, options: LoadOptions): Promise<LoadResult>;
}

/** What clients see and free of the route planner; control/route-planner/route-planner.ts is the real one. */
export interface PlannerControl {
  /** The configured blocks. */
  readonly blocks: readonly string[];
  status(): RoutePlannerJson;
  /** False when `address` is none, or in none of the blocks. */
  free(address: string): boolean;
  freeAll(): void;
}

/** How sources and plugins do, loading one anew and changing its options; plugin-host/manage/plugins.ts is the real one. */
export interface SourceControl {
  sourcesJson(): readonly SourceJson[];
  pluginsJson(): readonly PluginJson[];
  /** Undefined: there is none of that name. Rejects with `plugin-off`. */
  reload(name: string): Promise<PluginJson | undefined>;
  /**
   * Changes options until the node's next start. Undefined: there is none of that name. Rejects, and nothing is
   * changed, with `plugin-options-wrong`, `plugin-off`, or `requests-busy`.
   */
  change(name: string, changes: JsonObject): Promise<PluginJson | undefined>;
  /** What a plugin comes to with a call of its own. Undefined: it is not there, or off. */
  call(plugin: string, name: string, argument: Json): Promise<Json | undefined>;
}

/** What routes work with. They know nothing else of the node. */
export interface ApiContext {
  readonly sessions: Sessions;
  readonly tracks: TrackProvider;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For what takes long on the main thread. */
  readonly slicer: TaskSlicer;
  /** Names of filters that the configuration has switched off. */
  readonly disabledFilters: ReadonlySet<string>;
  /** Undefined while no addresses to rotate through are configured. */
  readonly routePlanner: PlannerControl | undefined;
  readonly sources: SourceControl;
  /** What the owner of a session, by the name of its key, may have; undefined names the password. */
  limitsOf(owner: string | undefined): Limits;
  readInfo(): InfoJson;
  readLoad(): LoadJson;
  /** What a support bundle says of the running node; other names of ids are made with `key`. */
  readSupport(key?: string): Promise<string>;
}
