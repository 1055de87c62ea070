// All messages between the main thread and a plugin's thread. Plain data that survives a structured clone; the tracks
// of a list are ready-made JSON, which the main thread passes on without parsing. Both threads.

import type { Owner } from "../lib/owners.ts";
import type { PlainTree, PlainTreeMap } from "../lib/plain-tree.ts";
import type { LogFields, LogLevel } from "../log/log.ts";
import type { Claims, FilterSettingsSchema, Json, JsonMembers, TrackField } from "../plugin-api/plugin.ts";
import type { Track } from "../track/track.ts";
import type { WrittenTracks } from "../track/written-tracks.ts";
import type { RouteCommand } from "./commands.ts";
import type { RouteEvent } from "./events.ts";
import type { LinkReason, SiteLink } from "./playable-link.ts";
import type { ExtensionCommand, ExtensionManifests, ExtensionReply } from "./plugin-extensions.ts";
import type { DrainCommand, EventsCommand, EventsReply, PlayerWish, SentEvent, WishResults } from "./plugin-players.ts";
import type { WireError } from "./wire-error.ts";
import type { RoutingSettings } from "./worker-settings.ts";

/** The start data of a plugin's thread: its workerData. */
export interface PluginStart {
  readonly settings: PluginSettings;
  /** The thread's Heartbeat. */
  readonly heartbeatMemory: SharedArrayBuffer;
}

/** Holds secrets: never log it. */
export interface PluginSettings {
  /** The module with the plugin: a file URL. */
  readonly module: string;
  /** CIDR blocks that may be connected to although private. */
  readonly allow: readonly string[];
  /** Base address by host name: requested instead of that host. */
  readonly hosts: Readonly<Record<string, string>>;
  readonly http: {
    readonly userAgent: string;
    readonly proxyUrl: string | undefined;
    readonly connectTimeoutMs: number;
    readonly socketTimeoutMs: number;
  };
  /** Named for this plugin: `http.proxyUrl` is the same, and its links go through it, too. */
  readonly ownProxyUrl: string | undefined;
  /** Set for this plugin: `http.userAgent` is the same, and the requests for its links send it, too. */
  readonly ownUserAgent: string | undefined;
  /** As an audio worker's. */
  readonly routing: RoutingSettings | undefined;
}

/** A plugin's description of itself, once it is set up. */
export interface PluginManifest extends ExtensionManifests {
  readonly name: string;
  readonly version: string;
  /** Further names for `/v4/info`, with their versions. */
  readonly aliases: readonly { readonly name: string; readonly version: string }[];
  readonly sources: readonly SourceManifest[];
  /** Default: none. */
  readonly filters?: readonly FilterManifest[] | undefined;
  /** Servers of the operator's own, `host:port`: it may reach them in a private network, and so may its tracks. */
  readonly ownServers: readonly string[];
}

/** A filter of a plugin. */
export interface FilterManifest {
  readonly name: string;
  /** File URL, another one after each start of the plugin's thread: a module is imported once by its URL. */
  readonly module: string;
  readonly settings: FilterSettingsSchema;
}

/** What the main thread knows about a source without asking the plugin. */
export interface SourceManifest extends Claims {
  readonly name: string;
  readonly fields: readonly TrackField[];
  /** Its tracks are played from other sources. Default: false. */
  readonly isMirrored?: boolean | undefined;
}

/** How a link of a track is requested, as in `ResolveRequest`. */
export interface PluginLinkRequest {
  readonly encoded: string;
  readonly userData: JsonMembers;
  readonly reason: LinkReason;
  readonly status?: number | undefined;
  readonly variant?: string | undefined;
}

/** The result of a source's load. `none`: the identifier is not one of this source. */
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

/** Where the audio is: a link, another source's identifier to play, or wherever else the same recording is. */
export type PluginLink =
  | Omit<SiteLink, "isOwnServer">
  | { readonly kind: "reference"; readonly identifier: string }
  | { readonly kind: "mirror"; readonly isrc: string | undefined };

/** The result of a call to the plugin. */
export interface PluginReturn {
  readonly kind: "return";
  readonly value: Json;
}

/** What any request to a plugin is answered with. */
export type PluginReply = PluginAnswer | PluginLink | PluginReturn | ExtensionReply | EventsReply;

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
  /** Epoch milliseconds; Infinity: permanently. */
  readonly untilMs: number;
  /** Of a cache with `persist: "large"`, which has larger limits. */
  readonly isLarge?: boolean | undefined;
}

/** What is right for other machines, too. */
export interface Portable {
  /** Of the plugin's options and version: with others the value may be wrong. Not secret. */
  readonly scope: string;
  /** Its cache is persisted as well. */
  readonly isPersisted: boolean;
}

/** Something that another machine has found out about a value. */
export type Learnt =
  /** It is to be used from now on. */
  | { readonly kind: "value"; readonly scope: string; readonly isPersisted: boolean; readonly value: PersistedValue }
  /** That very value is no good any more. */
  | {
      readonly kind: "refused";
      readonly scope: string;
      readonly cache: string;
      readonly key: string;
      readonly json: string;
    };

/** The options that a plugin receives once it has sent its name. */
export type GivenOptions =
  | {
      /** As the operator has written them, unchecked. */
      readonly options: PlainTree | undefined;
      /** Changes of the options since the node started, unchecked. */
      readonly changes: PlainTreeMap;
      readonly persisted: readonly PersistedValue[];
      /** What the machines of the cluster know by now. Undefined: the node is alone. */
      readonly shared?: { readonly scope: string; readonly values: readonly PersistedValue[] } | undefined;
      readonly problem?: undefined;
    }
  /** Why a plugin of that name cannot be. */
  | { readonly problem: string };

/** Commands of the main thread. Request numbers are unique for the life of the thread. */
export type PluginCommand =
  /** The answer to `named`. */
  | { readonly type: "options"; readonly given: GivenOptions }
  /**
   * Answered by a `reply` with a PluginAnswer. `depth`: how many loads of plugins led here; `owner`: whose the load is,
   * by which everything that the plugin's work shares is shared out.
   */
  | {
      readonly type: "load";
      readonly requestId: number;
      readonly source: string;
      readonly identifier: string;
      readonly depth: number;
      readonly owner: Owner;
      /** Those that the owner may use: undefined means all. */
      readonly sources?: readonly string[] | undefined;
    }
  /** Answered by a `reply` with a PluginLink. */
  | {
      readonly type: "resolve";
      readonly owner: Owner;
      readonly requestId: number;
      readonly source: string;
      readonly linkRequest: PluginLinkRequest;
      readonly sources?: readonly string[] | undefined;
    }
  /** A call of one of the plugin's own functions by a route of the node. Answered by a `reply` with a PluginReturn. */
  | { readonly type: "call"; readonly requestId: number; readonly name: string; readonly argument: Json }
  | ExtensionCommand
  | EventsCommand
  | DrainCommand
  /** Nobody waits for the reply any more. */
  | { readonly type: "abort"; readonly requestId: number }
  /** The answer to a `loadRequested`. */
  | { readonly type: "loaded"; readonly askId: number; readonly answer: PluginAnswer }
  | { readonly type: "loadFailed"; readonly askId: number; readonly error: WireError }
  /** The answer to a `playerWish`. */
  | { readonly type: "wishDone"; readonly askId: number; readonly result: WishResults[keyof WishResults] }
  | { readonly type: "wishFailed"; readonly askId: number; readonly error: WireError }
  /** The answer to a `routeRequested`. */
  | RouteCommand
  /** Another machine has a newer value, or was refused with one. */
  | { readonly type: "learn"; readonly learnt: Learnt }
  /** It has 1 s to dispose of what it holds, and says `disposed`. */
  | { readonly type: "dispose" };

/** Events of a plugin's thread. */
export type PluginEvent =
  /** Its module is loaded; it waits for its options. */
  | { readonly type: "named"; readonly name: string }
  | { readonly type: "ready"; readonly manifest: PluginManifest }
  /** It cannot be set up; it is of no use until something changes. */
  | {
      readonly type: "unusable";
      readonly name: string | undefined;
      readonly problem: string;
      readonly areOptionsWrong: boolean;
    }
  | { readonly type: "reply"; readonly requestId: number; readonly value: PluginReply }
  | { readonly type: "replyError"; readonly requestId: number; readonly error: WireError }
  /** The plugin asks all sources of the node; answered by `loaded` or `loadFailed`. */
  | {
      readonly type: "loadRequested";
      readonly askId: number;
      readonly identifier: string;
      readonly depth: number;
      /** Whose work the plugin asks for; undefined: its own. */
      readonly owner: Owner | undefined;
    }
  | { readonly type: "loadAborted"; readonly askId: number }
  /** The plugin asks something of a player; answered by `wishDone` or `wishFailed`. */
  | { readonly type: "playerWish"; readonly askId: number; readonly wish: PlayerWish }
  | { readonly type: "sendEvent"; readonly event: SentEvent }
  | RouteEvent
  /** At most once a second, when something has changed. */
  | {
      readonly type: "report";
      readonly backends: readonly BackendReport[];
      readonly counts: Readonly<Record<string, number>>;
    }
  /**
   * A program has started, or has exited: programs that still run when the thread is gone are ended by the main thread.
   */
  | { readonly type: "program"; readonly pid: number; readonly isRunning: boolean }
  | { readonly type: "persist"; readonly value: PersistedValue; readonly portable?: Portable | undefined }
  /** `refused`: a portable value that the plugin itself has deleted, not one that made room for another. */
  | {
      readonly type: "forget";
      readonly cache: string;
      readonly key: string;
      readonly refused?: { readonly scope: string; readonly json: string } | undefined;
    }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string; readonly fields: LogFields }
  | { readonly type: "disposed" };
