// All that the main thread and a plugin's thread say to each other. Plain data that survives a structured clone; the
// tracks of a list are ready JSON, so that the main thread passes on what it never looks at. Both threads.

import type { PlainTree, PlainTreeMap } from "../lib/plain-tree.ts";
import type { LogFields, LogLevel } from "../log.ts";
import type { Claims, Json, JsonMembers, TrackField } from "../plugin-api/plugin.ts";
import type { Track } from "../track/track.ts";
import type { WrittenTracks } from "../track/written-tracks.ts";
import type { RouteCommand } from "./commands.ts";
import type { RouteEvent } from "./events.ts";
import type { LinkReason, SiteLink } from "./playable-link.ts";
import type { WireError } from "./wire-error.ts";
import type { RoutingSettings } from "./worker-settings.ts";

/** What a plugin's thread is told when it starts: its workerData. */
export interface PluginStart {
  readonly settings: PluginSettings;
  /** The thread's WorkMark. */
  readonly markMemory: SharedArrayBuffer;
}

/** Holds secrets: never log it. */
export interface PluginSettings {
  /** The module with the plugin: a file URL. */
  readonly module: string;
  /** CIDR blocks that may be dialled although private. */
  readonly allow: readonly string[];
  /** Base address by host name: asked in place of that host. */
  readonly hosts: Readonly<Record<string, string>>;
  readonly http: {
    readonly userAgent: string;
    readonly proxyUrl: string | undefined;
    readonly connectTimeoutMs: number;
    readonly socketTimeoutMs: number;
  };
  /** Named for this plugin: `http.proxyUrl` is the same, and its links go through it, too. */
  readonly ownProxyUrl: string | undefined;
  /** As an audio worker's. */
  readonly routing: RoutingSettings | undefined;
}

/** What a plugin is, once it is set up. */
export interface PluginManifest {
  readonly name: string;
  readonly version: string;
  /** Further names for `/v4/info`, with their versions. */
  readonly aliases: readonly { readonly name: string; readonly version: string }[];
  readonly sources: readonly SourceManifest[];
  /** Servers of the operator's own, `host:port`: it may reach them in a private network, and so may its tracks. */
  readonly ownServers: readonly string[];
}

/** What the main thread knows of a source without asking it. */
export interface SourceManifest extends Claims {
  readonly name: string;
  readonly fields: readonly TrackField[];
}

/** How a link of a track is wanted, as `ResolveRequest` says it. */
export interface LinkWish {
  readonly encoded: string;
  readonly userData: JsonMembers;
  readonly reason: LinkReason;
  readonly status?: number | undefined;
  readonly rendition?: string | undefined;
}

/** What a source has found. `none`: it is not its identifier. */
export type PluginAnswer =
  | { readonly kind: "none" }
  | { readonly kind: "empty" }
  | { readonly kind: "track"; readonly track: Track }
  | { readonly kind: "search"; readonly tracks: WrittenTracks }
  | {
      readonly kind: "playlist";
      readonly name: string;
      readonly selectedTrack: number;
      readonly pluginInfo: JsonMembers;
      readonly tracks: WrittenTracks;
    }
  | { readonly kind: "reference"; readonly identifier: string };

/** Where the sound is: a link, or what another source's identifier plays. */
export type PluginLink = Omit<SiteLink, "isOwnServer"> | { readonly kind: "reference"; readonly identifier: string };

/** What a call of the plugin came to. */
export interface PluginReturn {
  readonly kind: "return";
  readonly value: Json;
}

/** The health of one backend of a plugin, and the state of its circuit breaker. */
export interface BackendReport {
  readonly name: string;
  readonly state: "closed" | "open" | "halfOpen";
  /** Since the thread started. */
  readonly succeeded: number;
  readonly failed: number;
  readonly lastError: string | undefined;
  /** Epoch milliseconds at which a trial request may be sent; undefined while the breaker is closed. */
  readonly openUntilMs: number | undefined;
}

/** A value of a cache that survives the plugin thread. May be a secret: never log it. */
export interface PersistedValue {
  readonly cache: string;
  readonly key: string;
  readonly json: string;
  /** Epoch milliseconds; Infinity: for ever. */
  readonly untilMs: number;
}

/** What a plugin learns once it has said its name. */
export type GivenOptions =
  | {
      /** As the operator has written them, unchecked. */
      readonly options: PlainTree | undefined;
      /** What was changed of them since the node started, unchecked. */
      readonly changes: PlainTreeMap;
      readonly persisted: readonly PersistedValue[];
      readonly problem?: undefined;
    }
  /** Why a plugin of that name cannot be. */
  | { readonly problem: string };

/** What the main thread asks. Request numbers are unique for the life of the thread. */
export type PluginCommand =
  /** The answer to `named`. */
  | { readonly type: "options"; readonly given: GivenOptions }
  /** Answered by a `reply` with a PluginAnswer. `depth`: how many loads of plugins led here. */
  | {
      readonly type: "load";
      readonly requestId: number;
      readonly source: string;
      readonly identifier: string;
      readonly depth: number;
    }
  /** Answered by a `reply` with a PluginLink. */
  | { readonly type: "resolve"; readonly requestId: number; readonly source: string; readonly wish: LinkWish }
  /** Something of its own that a route of the node wants. Answered by a `reply` with a PluginReturn. */
  | { readonly type: "call"; readonly requestId: number; readonly name: string; readonly argument: Json }
  /** Nobody waits for it any more. */
  | { readonly type: "abort"; readonly requestId: number }
  /** Of a `loadWanted`. */
  | { readonly type: "loaded"; readonly askId: number; readonly answer: PluginAnswer }
  | { readonly type: "loadFailed"; readonly askId: number; readonly error: WireError }
  /** Of a `routeWanted`. */
  | RouteCommand
  /** It has 1 s to dispose of what it holds, and says `disposed`. */
  | { readonly type: "dispose" };

/** What it tells. */
export type PluginEvent =
  /** Its module is loaded; its options are awaited. */
  | { readonly type: "named"; readonly name: string }
  | { readonly type: "ready"; readonly manifest: PluginManifest }
  /** It cannot be set up; it is of no use until something changes. */
  | {
      readonly type: "unusable";
      readonly name: string | undefined;
      readonly problem: string;
      readonly areOptionsWrong: boolean;
    }
  | { readonly type: "reply"; readonly requestId: number; readonly value: PluginAnswer | PluginLink | PluginReturn }
  | { readonly type: "replyError"; readonly requestId: number; readonly error: WireError }
  /** The plugin asks all sources of the node; answered by `loaded` or `loadFailed`. */
  | { readonly type: "loadWanted"; readonly askId: number; readonly identifier: string; readonly depth: number }
  | { readonly type: "loadUnwanted"; readonly askId: number }
  | RouteEvent
  /** At most once a second, when something has changed. */
  | {
      readonly type: "report";
      readonly backends: readonly BackendReport[];
      readonly counts: Readonly<Record<string, number>>;
    }
  /** A program runs, or has exited: those that still run when the thread is gone are ended for it. */
  | { readonly type: "program"; readonly pid: number; readonly isRunning: boolean }
  | { readonly type: "persist"; readonly value: PersistedValue }
  | { readonly type: "forget"; readonly cache: string; readonly key: string }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string; readonly fields: LogFields }
  | { readonly type: "disposed" };
