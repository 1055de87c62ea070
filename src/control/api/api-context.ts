// The dependencies of the REST routes and the WebSocket endpoint, passed in once by the node. Main thread.

import type { FoundLyrics, RouteManifest, ServeReply } from "../../bridge/plugin-extensions.ts";
import type { ModuleFilters } from "../../filters/module-filters.ts";
import type { Clock } from "../../lib/clock.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { WorkOptions } from "../../lib/owners.ts";
import type { TaskSlicer } from "../../lib/task-slicer.ts";
import type { Logger } from "../../log/log.ts";
import type { Json, SearchType } from "../../plugin-api/plugin.ts";
import type { Track } from "../../track/track.ts";
import type { AllowedSources, Limits } from "../access/identity.ts";
import type { ClusterReport } from "../cluster/cluster-status.ts";
import type { MachineReports } from "../cluster/machine-reports.ts";
import type { Drained } from "../cluster/node-drain.ts";
import type { InfoJson } from "../protocol/info-json.ts";
import type { LoadJson } from "../protocol/node-load-json.ts";
import type { RoutePlannerJson } from "../protocol/route-planner-json.ts";
import type { PluginJson, SourceJson } from "../protocol/sources-json.ts";
import type { LyricsSubscriptions } from "../sessions/lyrics-subscriptions.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { FoundItems } from "../sources/found-items.ts";
import type { LoadResult } from "../sources/load-result.ts";
import type { LoadOptions } from "../sources/track-loader.ts";
import type { StateReport } from "../state/state-status.ts";

/** Where tracks come from; control/sources/track-loader.ts is the real one. */
interface TrackProvider {
  /** Failures to load are results, not errors. */
  load(identifier: string, options: LoadOptions): Promise<LoadResult>;
}

/**
 * The part of the route planner that clients can read and change; control/route-planner/route-planner.ts is the real
 * one.
 */
export interface PlannerControl {
  /** The configured blocks. */
  readonly blocks: readonly string[];
  status(): RoutePlannerJson;
  /** False when `address` is not an address, or in none of the blocks. */
  free(address: string): boolean;
  freeAll(): void;
}

/**
 * State of sources and plugins, reloading a plugin and changing its options; plugin-host/manage/plugins.ts is the real
 * one.
 */
export interface SourceControl {
  sourcesJson(): readonly SourceJson[];
  pluginsJson(): readonly PluginJson[];
  /** Undefined: there is no plugin of that name. Rejects with `plugin-off`. */
  reload(name: string): Promise<PluginJson | undefined>;
  /**
   * Changes options until the node's next start. Undefined: there is no plugin of that name. Rejects, and nothing is
   * changed, with `plugin-options-wrong`, `plugin-off`, or `requests-busy`.
   */
  change(name: string, changes: JsonObject): Promise<PluginJson | undefined>;
  /** The result of one of the plugin's own calls. Undefined: the plugin does not exist, or is off. */
  call(plugin: string, name: string, argument: Json): Promise<Json | undefined>;
}

/** For whom a request to plugins is; `allowed`: the sources that the client may use, undefined means all. */
interface ClientOptions extends WorkOptions {
  readonly allowed: AllowedSources | undefined;
}

/** Searches of several kinds; plugin-host/manage/search-providers.ts is the real one. */
export interface SearchControl {
  /** Whether there is anything to search. */
  readonly isAvailable: boolean;
  /** Undefined: nothing takes the query. `types`: at least one. Rejects with a NodeError. */
  search(
    query: string,
    options: ClientOptions & { readonly types: readonly SearchType[] },
  ): Promise<FoundItems | undefined>;
}

/** Lyrics of tracks; plugin-host/manage/lyrics-providers.ts is the real one. */
export interface LyricsControl {
  /** Whether there is anybody to ask. */
  readonly isAvailable: boolean;
  /** Undefined: nobody has any. `isSourceSkipped`: the track's own source is not asked. Rejects with a NodeError. */
  find(track: Track, options: ClientOptions & { readonly isSourceSkipped: boolean }): Promise<FoundLyrics | undefined>;
}

/** The REST routes of plugins; plugin-host/manage/plugin-rest.ts is the real one. */
export interface PluginRestControl {
  /** All there are at this moment. The manifest of one is the same object until its plugin is set up again. */
  list(): readonly {
    readonly manifest: RouteManifest;
    /** `query`, `body`: values that are checked by the manifest's schemas. Rejects with a NodeError. */
    serve(
      request: ClientOptions & {
        readonly segments: Readonly<Record<string, string>>;
        readonly query: object;
        readonly body: object;
      },
    ): Promise<ServeReply>;
  }[];
}

/** The dependencies of routes. They know nothing else of the node. */
export interface ApiContext {
  readonly sessions: Sessions;
  readonly tracks: TrackProvider;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For what takes long on the main thread. */
  readonly slicer: TaskSlicer;
  /** Names of filters that the configuration has switched off. */
  readonly disabledFilters: ReadonlySet<string>;
  /** The filters of plugins. Default: none. */
  readonly moduleFilters?: ModuleFilters | undefined;
  /** Undefined while no addresses to rotate through are configured. */
  readonly routePlanner: PlannerControl | undefined;
  readonly sources: SourceControl;
  readonly searches: SearchControl;
  readonly lyrics: LyricsControl;
  readonly lyricsSubscriptions: Pick<LyricsSubscriptions, "subscribe" | "unsubscribe">;
  readonly pluginRest: PluginRestControl;
  /** The limits of a session's owner, by the name of its key; undefined names the password. */
  limitsOf(owner: string | undefined): Limits;
  readInfo(): InfoJson;
  /** How the state that outlives the process is doing. */
  readState(): StateReport;
  /** How this machine is doing in its cluster. */
  readCluster(): ClusterReport;
  /** What all machines of the cluster say of themselves. */
  readonly reports: Pick<MachineReports, "serve" | "self" | "askOthers">;
  /**
   * Resolves when all that was asked for so far outlives the process, or after a quarter of a second. Undefined: there
   * is nothing to wait for.
   */
  written(): Promise<void> | undefined;
  readLoad(): LoadJson;
  /** Drains the node from now on; resolves when that is done, or after that time. */
  drain(timeoutMs: number): Promise<Drained>;
  /** The running node's part of a support bundle; pseudonyms of ids are made with `key`. */
  readSupport(key?: string): Promise<string>;
}
