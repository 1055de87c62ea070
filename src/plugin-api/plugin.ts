// The plugin interface: everything that `tonearm/plugin` exports. It imports nothing of the node, so that a plugin can
// be compiled and tested without it. A plugin's code runs on a dedicated thread, never on the main thread; of the audio
// threads, only its filter modules. docs/plugins.md is the tutorial. The file is long because it is one interface that
// documents every member with its meaning, unit, range and errors.

/** The version of this interface. A plugin with another `apiVersion` is not set up. */
export const API_VERSION = 1;

/** A JSON value: data that is copied between threads. */
export type Json = null | boolean | number | string | readonly Json[] | JsonMembers;
/** A JSON object. */
export interface JsonMembers {
  readonly [name: string]: Json;
}

// A plugin

/** A plugin: the default export of its module. Create it with `definePlugin`. */
export interface Plugin<Options extends OptionSchema = OptionSchema> {
  /** Lower-case letters, digits and dashes; 1 to 40 characters. Operators set its options under `plugins.<name>`. */
  readonly name: string;
  /** Semantic version, shown in `/v4/info` and in the log. */
  readonly version: string;
  /** The `API_VERSION` that the plugin was written for. */
  readonly apiVersion: number;
  /** The options that an operator can set, by name. They are checked before `setup`; unknown options are errors. */
  readonly config: Options;
  /**
   * Registers what the plugin offers. Called once per plugin thread, with options that are checked and complete. A
   * reload or a change of options starts a new thread. If `setup` throws, rejects or takes more than 10 s, the plugin
   * is off until it is reloaded; on a reload the previous thread continues instead.
   */
  setup(host: PluginHost<OptionValues<Options>>): void | Promise<void>;
}

/** Returns `plugin` unchanged. Infers the types of its options. */
export function definePlugin<const Options extends OptionSchema>(plugin: Plugin<Options>): Plugin<Options> {
  return plugin;
}

// Options

/** Options by name. */
export type OptionSchema = Readonly<Record<string, OptionType>>;

interface Described {
  /** Description for operators: what the option does, with its unit. */
  readonly meaning: string;
  /** Default: false. True: only the configuration can set it, not `PATCH /v4/tonearm/plugins/{name}/options`. */
  readonly isFixed?: boolean;
}

/**
 * The type of one option. An option without `default` is undefined unless the operator sets it. The plugin is off while
 * an option with `isRequired` is not set.
 *
 * - `text`: a string.
 * - `secret`: a string that is removed from log lines and errors.
 * - `server`: the `http` or `https` address of a server that the operator runs. The plugin and its tracks can reach
 *   exactly that host and port, even in a private network.
 * - `integer`, `number`: from `min` to `max`.
 * - `flag`: true or false.
 * - `choice`: one of `names`.
 * - `texts`: a list of strings; with `names`, of these.
 */
export type OptionType =
  | (Described & {
      readonly type: "text" | "secret" | "server";
      readonly default?: string;
      readonly isRequired?: boolean;
    })
  | (Described & {
      readonly type: "integer" | "number";
      readonly default?: number;
      readonly min: number;
      readonly max: number;
    })
  | (Described & { readonly type: "flag"; readonly default?: boolean })
  | (Described & { readonly type: "choice"; readonly names: readonly string[]; readonly default?: string })
  | (Described & { readonly type: "texts"; readonly default?: readonly string[]; readonly names?: readonly string[] })
  /** Nested options. */
  | (Described & { readonly type: "group"; readonly members: OptionSchema })
  /** A list of groups, at most 100. */
  | (Described & { readonly type: "groups"; readonly members: OptionSchema })
  /** Groups by names that the operator chooses, at most 100. */
  | (Described & { readonly type: "named"; readonly members: OptionSchema });

/** The option values that `setup` gets for a schema. */
export type OptionValues<Schema extends OptionSchema> = {
  readonly [Name in keyof Schema]: OptionValue<Schema[Name]>;
};
type OptionValue<Type extends OptionType> = Type extends { readonly type: "flag" }
  ? Type extends { readonly default: boolean }
    ? boolean
    : boolean | undefined
  : Type extends { readonly type: "choice"; readonly names: readonly (infer Name)[] }
    ? Type extends { readonly default: string }
      ? Name
      : Name | undefined
    : Type extends { readonly type: "texts" }
      ? readonly string[]
      : Type extends { readonly type: "group"; readonly members: infer Members extends OptionSchema }
        ? OptionValues<Members>
        : Type extends { readonly type: "groups"; readonly members: infer Members extends OptionSchema }
          ? readonly OptionValues<Members>[]
          : Type extends { readonly type: "named"; readonly members: infer Members extends OptionSchema }
            ? Readonly<Record<string, OptionValues<Members>>>
            : Type extends { readonly type: "integer" | "number" }
              ? Type extends { readonly default: number }
                ? number
                : number | undefined
              : Type extends { readonly default: string } | { readonly isRequired: true }
                ? string
                : string | undefined;

// The host

/**
 * The node's services for a plugin. Valid until `signal` is aborted. From then on `http`, `load`, `run`, `clock.sleep`
 * and the wait for a pool reject with the reason of `signal`, and so do calls that are already running.
 */
export interface PluginHost<Options = unknown> {
  /** The checked options, with defaults filled in. They never change: new options start a new plugin thread. */
  readonly options: Options;
  /** The `User-Agent` header of the plugin's requests. Default: `Tonearm/<version>`. */
  readonly userAgent: string;
  /** Aborted when the plugin is reloaded, its thread is ended or the node shuts down. */
  readonly signal: AbortSignal;
  readonly http: HttpClient;
  readonly clock: PluginClock;
  readonly log: PluginLogger;

  /** Adds a source, at most 100. Only during `setup`. Throws if the name is taken or the claims are invalid. */
  addSource(source: Source): void;
  /**
   * Lists the plugin in `/v4/info` under another name and version too, at most 50. Clients look for the names of
   * Lavalink's plugins before they use their features. Only during `setup`.
   */
  addAlias(name: string, version: string): void;
  /** Adds a filter, at most 20. Only during `setup`. Throws if the name, the module or the settings are invalid. */
  addFilter(filter: Filter): void;
  /**
   * Adds members to the `pluginInfo` of tracks and playlists that this plugin's sources find. Modifiers run in the
   * order in which they were added; later ones override. Only during `setup`.
   */
  addPluginInfo(modifier: PluginInfoModifier): void;
  /**
   * Adds a call for the node's own routes, such as Lavalink's `/youtube`; at most 50. Only built-in plugins need it.
   * `carryOut` has 15 s and rejects with a SourceError. Only during `setup`.
   */
  addCall(name: string, carryOut: (argument: Json, signal: AbortSignal) => Promise<Json>): void;
  /**
   * Adds a provider for searches of several kinds (`GET /v4/loadsearch`), at most 20. Only during `setup`. Throws if it
   * is invalid, or its source has not been added.
   */
  addSearchProvider(provider: SearchProvider): void;
  /** Adds a provider of lyrics (`GET /v4/lyrics`), at most 20. Only during `setup`. Throws if it is invalid. */
  addLyricsProvider(provider: LyricsProvider): void;
  /**
   * Adds a REST route below `/v4/<plugin name>` or below players, at most 100. Only during `setup`. Throws if it is
   * invalid.
   */
  addRoute<const Query extends OptionSchema, const Body extends OptionSchema>(route: PluginRoute<Query, Body>): void;
  /**
   * Adds a listener for what happens to sessions and players, at most 20. Only during `setup`. Events of one player
   * arrive in their order. They wait for the plugin's thread, at most 2,000 of them: while it is slow or restarts the
   * oldest are dropped. What a listener starts is work for the client of the player.
   */
  onEvent(listener: (event: NodeEvent) => void): void;

  /**
   * Loads an identifier from all sources of the node, as a client would: `scsearch:…`, a link. Takes 20 s at most.
   * Rejects with a SourceError, also when more than five such calls are nested in each other, or when the client that
   * the current work is for may not use the source.
   */
  load(identifier: string, options: { readonly signal: AbortSignal }): Promise<SourceAnswer>;
  /** The player of that guild in a session, whether there is one at the moment or not. Throws for what are no ids. */
  player(sessionId: string, guildId: string): PlayerHandle;
  /**
   * Sends an event to the client of a session, which gets `{ op: "event", type, guildId, … }` with the members, or later
   * if it is away. Throws for a type of the node's own events, and for more than 64 KiB. Nobody gets it if the session
   * has ended.
   */
  sendEvent(event: ClientEvent): void;
  /** The cache of that name in this thread, at most 64. Its values are lost with the thread unless it is persisted. */
  cache<Value>(name: string, options: CacheOptions): Cache<Value>;
  /**
   * The backend of that name: one of the means to reach a site, such as a client identity, a host or a key. Its
   * requests are counted and shown to the operator, and a circuit breaker stops them while it keeps failing. At most
   * 64; throws for more.
   *
   * `host`: for hosts that strangers choose, such as those of links. Each has a separate breaker (those of the last
   * 256 are kept); they are counted together under the name.
   */
  backend(name: string, options?: { readonly host?: string }): Backend;
  /**
   * The pool of that name: bounds how much work of one kind the plugin does at once, such as reading large answers. The
   * options of the first call apply. At most 64; throws for more, and for limits that are not whole numbers.
   */
  pool(name: string, options: PoolOptions): Pool;
  /** Runs a program, never through a shell. Resolves with any exit code; rejects with a SourceError. */
  run(program: string, options: RunOptions): Promise<RunResult>;
  /**
   * Adds `by` (a whole number from 1, default 1) to a counter of the plugin, which metrics show as
   * `tonearm_plugin_events_total`. At most 64 event names; further names and invalid numbers are ignored.
   */
  count(event: string, by?: number): void;
  /** Registers a function that is called once when the plugin ends. All of them together have 1 s. */
  onDispose(dispose: () => void | Promise<void>): void;
}

// Filters

/** A filter: an effect that clients switch on by `filters.pluginFilters.<name>`. */
export interface Filter {
  /**
   * Listed in `filters` of `/v4/info`: a lower-case letter, then letters, digits and dashes; up to 40 characters. Where
   * another plugin has one of that name already, this one is left out.
   */
  readonly name: string;
  /**
   * File URL of the module whose default export is the filter's `FilterFactory`: `new URL("./filter.mjs",
   * import.meta.url)`. Each audio worker imports it, and what it imports, within 50 ms of CPU time for all of the
   * plugin's; it again after a reload if it has changed, but not what it imports. A plugin that takes longer is refused;
   * of what the plugin's own module imports too, only the workers see how long it takes, and log it.
   */
  readonly module: URL | string;
  /** The members that clients can send, at most 30. They are checked and complete when the factory gets them. */
  readonly settings: FilterSettingsSchema;
}

/** The members of a filter's settings, by name. Each has a default, so `{}` is valid. */
export type FilterSettingsSchema = Readonly<Record<string, FilterSetting>>;

/** The type of one member, as those of options. */
export type FilterSetting = { readonly meaning: string } & (
  | { readonly type: "integer" | "number"; readonly default: number; readonly min: number; readonly max: number }
  | { readonly type: "flag"; readonly default: boolean }
  | { readonly type: "choice"; readonly names: readonly string[]; readonly default: string }
);

/**
 * Makes the filter of one track; the default export of a filter's module. Runs on an audio worker, like all that it
 * returns: no waiting, no input or output, and no global state that two players would share. `previous`: the processor
 * that it replaces, when a client has changed filters; it runs on for 20 ms, so its state may be copied but not shared.
 * What throws, or takes more than 50 ms of CPU time, is a fault.
 */
export type FilterFactory<Settings = Readonly<Record<string, number | boolean | string>>> = (
  settings: Settings,
  previous?: AudioProcessor,
) => AudioProcessor;

/**
 * Changes the audio of one track. A processor that throws, outputs NaN or infinity, or takes more than 4 ms of CPU time
 * for a frame again and again is removed from its player, whose client gets a `FilterRemovedEvent`.
 */
export interface AudioProcessor {
  /**
   * Changes the first `frames` samples of both channels in place: 48 kHz, full scale is 1, up to 960 (20 ms). Must not
   * keep the arrays. Allocate nothing here: garbage delays all players of the worker.
   */
  process(left: Float32Array, right: Float32Array, frames: number): void;
  /** The next audio does not continue the last: a seek, or the start of a track. */
  reset?(): void;
}

/** The time, injected so that tests can control it. */
export interface PluginClock {
  /** The current time, epoch milliseconds. */
  now(): number;
  /** Resolves after `delayMs` milliseconds. Rejects with the reason of `signal` when that is aborted. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
}

/** Writes to the node's log, with the plugin's name. Secrets are removed; at most 100 lines a minute are written. */
export interface PluginLogger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

// Sources

/**
 * The identifiers that a source is asked for, as plain data. The main thread checks them first, so that a plugin thread
 * is not started for identifiers of other sources. `load` can still decline an identifier that matches.
 */
export interface Claims {
  /** Starts of identifiers, case-sensitive: `scsearch:`. */
  readonly prefixes?: readonly string[];
  /** Hosts of links with `http`, `https` or no scheme: `soundcloud.com`, `*.bandcamp.com`. */
  readonly hosts?: readonly string[];
  /** Ends of the paths of `http` and `https` links, in lower case with a leading dot: `.rss`. */
  readonly endings?: readonly string[];
  /** Identifiers of only letters, digits, `-` and `_`, with this length, this case-sensitive start, or both. */
  readonly words?: readonly { readonly startsWith?: string; readonly length?: number }[];
}

/** A source: loads tracks by identifier, and resolves where their audio is. */
export interface Source extends Claims {
  /** The `sourceName` of its tracks, listed in `sourceManagers` of `/v4/info`. 1 to 64 characters. */
  readonly name: string;
  /** Additional fields of its encoded tracks, in order. Only append new fields, or older encoded tracks break. */
  readonly fields?: readonly TrackField[];
  /**
   * True: its site has no audio for the node, and its tracks are played as the same recordings from other sources
   * (`plugins.lavasrc.providers`). `resolve` answers `mirror`. Tracks with `isPreview: true` among their `fields` are
   * played themselves. Default: false.
   */
  readonly isMirrored?: boolean;
  /**
   * Loads what an identifier refers to. Undefined: the identifier is not for this source, and the next one is asked.
   * Rejects with a SourceError; any other error is reported as a fault of the plugin. All sources that are asked for
   * one identifier have 20 s together.
   */
  load(request: LoadRequest): Promise<SourceAnswer | undefined>;
  /**
   * Resolves where the audio of one of its tracks is now. Called shortly before the audio is needed; called again
   * before the link expires and after it was refused, also while the track plays. Has 15 s. Rejects like `load`.
   */
  resolve(request: ResolveRequest): Promise<Playable>;
}

/** A request to load an identifier. */
export interface LoadRequest {
  /** The identifier as the client sent it, at most 4,096 characters. */
  readonly identifier: string;
  /** Aborted when no client waits for the answer any more, and at the time limit. */
  readonly signal: AbortSignal;
}

/** The result of a load. */
export type SourceAnswer =
  | { readonly kind: "track"; readonly track: SourceTrack }
  /** Tracks beyond 10,000 are dropped. `selectedTrack`: index of a track; default: -1, none. */
  | {
      readonly kind: "playlist";
      readonly name: string;
      readonly tracks: readonly SourceTrack[];
      readonly selectedTrack?: number;
      readonly pluginInfo?: JsonMembers;
    }
  | { readonly kind: "search"; readonly tracks: readonly SourceTrack[] }
  | { readonly kind: "empty" }
  /** Loads another identifier instead, from all sources of the node. At most five references in a row. */
  | { readonly kind: "reference"; readonly identifier: string };

/** A track. Texts are cut at 65,535 bytes. */
export interface SourceTrack {
  /** Identifies the track at its source, and is passed to `resolve`. Never a link that expires, never a secret. */
  readonly identifier: string;
  readonly title: string;
  /** Default: `Unknown artist`. */
  readonly author?: string | undefined;
  /** Length in milliseconds; undefined: endless or unknown. */
  readonly lengthMs?: number | undefined;
  /** True for a stream, which cannot be seeked. Default: true if `lengthMs` is undefined. */
  readonly isStream?: boolean | undefined;
  /** Link to the track's page, for people. */
  readonly uri?: string | null | undefined;
  readonly artworkUrl?: string | null | undefined;
  readonly isrc?: string | null | undefined;
  readonly pluginInfo?: JsonMembers | undefined;
  /** Values of the source's additional `fields`, by name. */
  readonly fields?: Readonly<Record<string, string | boolean | null>> | undefined;
}

/** An additional field of an encoded track, written after the source name (protocol-v4.md section 5.4). */
export interface TrackField {
  readonly name: string;
  readonly type: "text" | "optionalText" | "flag";
}

/** A request to resolve the audio of a track. */
export interface ResolveRequest {
  /** The track as `load` returned it, or as a client stored it, perhaps years ago. */
  readonly track: SourceTrack;
  /** The track's `userData`, set by the client. */
  readonly userData: JsonMembers;
  /**
   * True: the client may only play from some sources, without `http`. No text of `track` or `userData`, all of which
   * the client may have written, must become the address of the link then: ask the site for it. Default: false.
   */
  readonly mustAskSite?: boolean | undefined;
  /**
   * `start`: the track is about to be played. `expiring`: the current link expires soon. `refused`: the server refused
   * the current link. The last two need a fresh link, not one from a cache.
   */
  readonly reason: "start" | "expiring" | "refused";
  /**
   * With `refused`: the HTTP status of the refusal. 429 means that the site has banned the address that the link was
   * bound to, and says nothing about the link.
   */
  readonly status?: number | undefined;
  /** The `variant` of the link that was played last. Return the same one if possible: see `Playable`. */
  readonly variant?: string | undefined;
  readonly signal: AbortSignal;
}

/** Where the audio of a track is. */
export type Playable =
  | {
      readonly kind: "link";
      /** An `http` or `https` link to a media file, live stream or HLS playlist. The outbound guard checks it. */
      readonly url: string;
      /** Headers of each request to the link's host, and with HLS to the hosts that the playlist names. */
      readonly headers?: Readonly<Record<string, string>> | undefined;
      /** When the link expires, epoch milliseconds. Default: never. */
      readonly expiresAtMs?: number | undefined;
      /**
       * Identifies the bytes behind the link. If a new link has the same `variant`, playback continues at the byte
       * where the last link ended, otherwise at the time.
       */
      readonly variant?: string | undefined;
      /**
       * Reads the file in ranges of this many bytes (an integer from 65,536 to 1,073,741,824), requested in the `Range`
       * header or in the query (`range=0-99`). Any other number is a fault of the plugin, and the track fails.
       */
      readonly rangeStep?: { readonly bytes: number; readonly by: "header" | "query" } | undefined;
      /** True: the site gives only a part of the track. Another source's track is not mirrored by it. Default: false. */
      readonly isPreview?: boolean | undefined;
    }
  /**
   * Plays what this identifier loads: a track of another source, or the first result of a search (`ytsearch:…`). Fails
   * for a client that may not use that source.
   */
  | { readonly kind: "reference"; readonly identifier: string }
  /**
   * For a source with `isMirrored`: another source's track of the same recording is to be played. `isrc`: the
   * recording's code (ISO 3901), where the source knows it and the track does not have it.
   */
  | { readonly kind: "mirror"; readonly isrc?: string | undefined };

/** Returns members to add to `pluginInfo`. Called for every track and playlist, so it must be fast. */
export interface PluginInfoModifier {
  track?(track: SourceTrack): JsonMembers;
  playlist?(playlist: Extract<SourceAnswer, { readonly kind: "playlist" }>): JsonMembers;
}

// Searches, lyrics, routes

/** What a search looks for. */
export type SearchType = "track" | "album" | "artist" | "playlist" | "text";

/**
 * Searches a source for tracks, albums, artists, playlists and texts. Searches that no provider takes are loaded from
 * the sources: they have tracks only, and need no provider.
 */
export interface SearchProvider {
  /** The name of one of the plugin's sources, of which the tracks are. A client needs the right to use it. */
  readonly source: string;
  /** Starts of the queries, case-sensitive: `dzsearch:`. 1 to 20. */
  readonly prefixes: readonly string[];
  /** Undefined: nothing is found. Has 20 s. Rejects like `load` of a source. */
  search(request: SearchRequest): Promise<SearchResult | undefined>;
}

/** A search of several kinds. */
export interface SearchRequest {
  /** As the client sent it, with its prefix; at most 4,096 characters. */
  readonly query: string;
  /** The kinds that the client wants, at least one. Lists of other kinds are dropped. */
  readonly types: readonly SearchType[];
  readonly signal: AbortSignal;
}

/** Lists without a result may be left out. Entries beyond 100 of each are dropped. */
export interface SearchResult {
  readonly tracks?: readonly SourceTrack[] | undefined;
  readonly albums?: readonly SearchList[] | undefined;
  readonly artists?: readonly SearchList[] | undefined;
  readonly playlists?: readonly SearchList[] | undefined;
  readonly texts?: readonly SearchText[] | undefined;
}

/** An album, an artist or a playlist that a search found, without its tracks. */
export interface SearchList {
  readonly name: string;
  /** What loads its tracks: its page. */
  readonly url?: string | undefined;
  readonly artworkUrl?: string | undefined;
  /** Who made it; of an artist the name. */
  readonly author?: string | undefined;
  readonly totalTracks?: number | undefined;
}

/** A suggestion for another query. */
export interface SearchText {
  readonly text: string;
  readonly pluginInfo?: JsonMembers | undefined;
}

/** Looks for the lyrics of tracks. */
export interface LyricsProvider {
  /** 1 to 64 letters, digits, dots, dashes and underscores; `plugins.lavalyrics.sources` orders providers by it. */
  readonly name: string;
  /**
   * Names of the plugin's sources: it is asked for their tracks only, before all other providers, and not for clients
   * that skip the track's source. Default: it is asked for tracks of all sources.
   */
  readonly sources?: readonly string[];
  /** Undefined: it has none. Has 15 s. Rejects with a SourceError: the next provider is asked. */
  load(request: LyricsRequest): Promise<Lyrics | undefined>;
}

export interface LyricsRequest {
  /** As a client has it; the texts may be its own. `fields` only for tracks of the plugin's sources. */
  readonly track: SourceTrack;
  readonly signal: AbortSignal;
}

/** The lyrics of a track. They need a text or a line; at most 5,000 lines and 256 Ki characters. */
export interface Lyrics {
  /** Where they are from: `lrclib`. */
  readonly sourceName: string;
  /** Whose they are, for people: `LRCLIB`. Default: unknown. */
  readonly provider?: string | undefined;
  /** The whole text, without times. Default: the lines. */
  readonly text?: string | undefined;
  /** In the order of their times. Default: the times are not known. */
  readonly lines?: readonly LyricsLine[] | undefined;
}

export interface LyricsLine {
  /** Milliseconds from the start of the track. */
  readonly timestampMs: number;
  /** Milliseconds. Default: unknown. */
  readonly durationMs?: number | undefined;
  readonly line: string;
}

/**
 * A REST route of the plugin, behind the node's password and keys, in its OpenAPI document. `query` and `body` are
 * checked like options before the plugin is asked: a wrong member is answered with 400, an unknown one is ignored. The
 * body, an object of at most 64 KiB, is never logged.
 */
export interface PluginRoute<Query extends OptionSchema = OptionSchema, Body extends OptionSchema = OptionSchema> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/v4/<plugin name>`: `/rooms/:room`. Each segment is a word, or a colon and the name of a parameter. */
  readonly path: string;
  /**
   * It is below players instead: `/v4/sessions/{sessionId}/players/{guildId}<path>`, whose ids are among the segments
   * and whose path starts with the plugin's name: `/example/state`. Only the client of the session may use it, or an
   * operator. Default: it is not.
   */
  readonly ofPlayer?: PlayerRoute;
  /** One sentence for the OpenAPI document. */
  readonly summary: string;
  /**
   * Whose keys may use it: `client` plays, `viewer` only looks, `known` is everybody with a key. Operators and the
   * password may use all. Default: `operator`.
   */
  readonly access?: "client" | "viewer" | "known" | "operator";
  /** The query parameters, none of them a group or a secret. Default: none. */
  readonly query?: Query;
  /** The members of the body. Default: no body is read. */
  readonly body?: Body | undefined;
  /** True: the body is a JSON array, the value of the only member of `body`. Default: an object. */
  readonly isListBody?: boolean;
  /** Has 15 s. A SourceError is answered with its message: see `RouteAnswer`. Other errors are faults of the plugin. */
  handle(request: RouteRequest<Query, Body>): Promise<RouteAnswer>;
}

/** What a route below players needs. */
export interface PlayerRoute {
  /** Where it is not there, the answer is 404 (`Session not found`, `Player not found`). */
  readonly needs: "session" | "player";
  /** Instead of that 404: an empty answer of this status. */
  readonly missingStatus?: 200 | 204 | undefined;
}

export interface RouteRequest<Query extends OptionSchema = OptionSchema, Body extends OptionSchema = OptionSchema> {
  /** The parameters of the path, decoded. */
  readonly segments: Readonly<Record<string, string>>;
  readonly query: OptionValues<Query>;
  readonly body: OptionValues<Body>;
  /** Aborted when the client disconnects, and at the time limit. */
  readonly signal: AbortSignal;
}

/**
 * The answer of a route: JSON of at most 1 MiB (status 200 to 299, default 200), nothing (200 or 204), or the node's error
 * object with a status from 400. A SourceError has the status 404 (`not-found`), 400 (`invalid`, `unavailable`), or 503.
 */
export type RouteAnswer =
  | { readonly json: Json; readonly status?: number }
  | { readonly status: 200 | 204 }
  | { readonly status: number; readonly message: string };

// Events, players

/** What happens on the node. */
export type NodeEvent = SessionEvent | PlayerEvent | TrackEvent | MarkerEvent;

/**
 * A session. `sessionParked`: its client is away, and it waits for it; its players play on. `sessionClosed`: it is over,
 * and so are its players.
 */
export interface SessionEvent {
  readonly type: "sessionOpened" | "sessionResumed" | "sessionParked" | "sessionClosed";
  readonly sessionId: string;
  /** The bot's user id. */
  readonly userId: string;
  /** As the client calls itself. */
  readonly clientName: string | undefined;
}

interface OfPlayer {
  readonly sessionId: string;
  readonly guildId: string;
}

interface PlayerEvent extends OfPlayer {
  readonly type: "playerCreated" | "playerDestroyed";
}

/** A track that a player plays or has played. */
export interface PlayingTrack {
  /** Identifies this playing of the track, on this node. */
  readonly playId: number;
  /** As the client has it. */
  readonly track: PlayedTrack;
  /** What plays under its name: a mirror or a fallback. */
  readonly mirror?: PlayedTrack | undefined;
}

/** `fields` only for tracks of the plugin's sources. */
export interface PlayedTrack extends SourceTrack {
  readonly sourceName: string;
  readonly encoded: string;
}

interface OfTrack extends OfPlayer, PlayingTrack {}

/** With the members of the event that the client gets. */
export type TrackEvent =
  | (OfTrack & { readonly type: "trackStarted" })
  /** Another track plays under its name from now on, and has no markers yet. The client gets no event. */
  | (OfTrack & { readonly type: "trackMirrored" })
  | (OfTrack & {
      readonly type: "trackEnded";
      readonly reason: "finished" | "loadFailed" | "stopped" | "replaced" | "cleanup";
    })
  | (OfTrack & {
      readonly type: "trackException";
      readonly message: string;
      readonly severity: "common" | "suspicious" | "fault";
    })
  | (OfTrack & { readonly type: "trackStuck"; readonly thresholdMs: number });

/** One of the plugin's own markers was passed. Those that never are end with their track. */
export interface MarkerEvent extends OfPlayer {
  readonly type: "markerPassed";
  readonly playId: number;
  readonly note: Json;
  /**
   * `reached`: playback came to it, and jumped if it has `skipToMs`. `late`: it was past when it was set; playback jumps
   * if it was not yet at `skipToMs`. `bypassed`: a seek or a jump has passed over it. A seek back to before it makes it
   * be passed again.
   */
  readonly outcome: "reached" | "late" | "bypassed";
  /** When listeners hear that position, epoch milliseconds; otherwise when it was noticed. */
  readonly epochMs: number;
}

/** One position in a track. */
export interface TrackMarker {
  /** Milliseconds of track time. */
  readonly positionMs: number;
  /** Playback jumps there when it reaches the marker, exact to the frame. Streams play on. Default: it plays on. */
  readonly skipToMs?: number | undefined;
  /** Comes back with its event; at most 1,024 characters of JSON. Default: null. */
  readonly note?: Json | undefined;
}

/**
 * Controls a player, with the rights of its client. Everything rejects with an Error for invalid values, and after 15 s.
 */
export interface PlayerHandle {
  readonly sessionId: string;
  readonly guildId: string;
  /** Undefined: there is no such session. */
  state(): Promise<GuildState | undefined>;
  /**
   * Replaces the plugin's markers on a track; they end with it. Resolves with its position at that moment in milliseconds;
   * undefined, without any effect, if something else plays by now. Rejects if its markers, also those of others, would be
   * more than 1,500, and with the `code` `memory-exhausted` if its session has no memory left for them.
   */
  setMarkers(playId: number, markers: readonly TrackMarker[]): Promise<number | undefined>;
  /** Resolves when the change has been applied. False, without any effect: there is no such player, or track. */
  update(change: PlayerChange): Promise<boolean>;
  /**
   * Keeps a value of the plugin for this guild, also without a player, until a player of it is destroyed or the session
   * ends; it outlives the plugin's thread. At most 4,096 characters of JSON; undefined removes it. False, without any
   * effect: there is no such session.
   */
  keep(value: Json | undefined): Promise<boolean>;
}

export interface GuildState {
  /** See `PlayerHandle.keep`. */
  readonly kept: Json | undefined;
  /** Undefined: it has none. */
  readonly player: PlayerState | undefined;
}

export interface PlayerState {
  readonly isPaused: boolean;
  /** 0 to 1000, percent. */
  readonly volume: number;
  /** Undefined: nothing is loaded. */
  readonly playing: (PlayingTrack & { readonly positionMs: number }) | undefined;
}

/** As a client's update of a player. */
export interface PlayerChange {
  /** Only while this plays. Default: whatever plays. */
  readonly playId?: number | undefined;
  /** Milliseconds of track time. */
  readonly positionMs?: number | undefined;
  readonly isPaused?: boolean | undefined;
  /** 0 to 1000, percent. */
  readonly volume?: number | undefined;
  /** True: ends the track, for the reason `stopped`; also ends a pause. */
  readonly isStopped?: boolean | undefined;
}

/** An event of the plugin's own for a client. */
export interface ClientEvent {
  readonly sessionId: string;
  readonly guildId: string;
  /** 1 to 64 letters and digits, the first a letter. */
  readonly type: string;
  /** Not `op`, `type` or `guildId`. */
  readonly members: JsonMembers;
}

// Errors

/**
 * The kind of a SourceError.
 *
 * - `not-found`: there is no such item; the client gets an empty result.
 * - `unavailable`: the site refuses the item (private, region, age, login, paid); the client gets the message.
 * - `invalid`: the identifier is invalid.
 * - `busy`: too many requests, or the site is down.
 * - `changed`: the answer has an unexpected form.
 * - `unreachable`: no connection to the site.
 *
 * The first three are answers of the site. The last three count as failures of the backend that was used.
 */
export type SourceErrorKind = "not-found" | "unavailable" | "busy" | "changed" | "unreachable" | "invalid";

/** The error with which `load`, `resolve` and the host's calls reject. Clients see the message: no secrets in it. */
export class SourceError extends Error {
  override readonly name = "SourceError";
  readonly kind: SourceErrorKind;
  /**
   * With `busy`: how long the site asks clients to wait, milliseconds. The circuit breaker of the backend opens at once
   * for that long, 30 minutes at most.
   */
  readonly retryAfterMs: number | undefined;
  /** With `changed`: the body of an answer was larger than `sizeBytesMax` of the request. Default: false. */
  readonly isTooLarge: boolean;

  constructor(
    kind: SourceErrorKind,
    message: string,
    options: {
      readonly cause?: unknown;
      readonly retryAfterMs?: number | undefined;
      readonly isTooLarge?: boolean;
    } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.isTooLarge = options.isTooLarge ?? false;
  }
}

// HTTP

/**
 * The plugin's HTTP client. Requests go through the outbound guard, and through the proxy that is configured for the
 * node or for the plugin.
 *
 * If the operator rotates addresses for the source (`tonearm.routePlanner.sources`), all requests of one `load` or
 * `resolve`, and those for the link that it returns, are sent from the same address. After a 429 the request is sent
 * again from another address; it rejects with `busy` when none is left.
 *
 * At most 32 requests run at once, further ones wait. The bodies of running requests have 64 MiB together, and each has
 * at least 512 KiB; a body that gets no more memory fails with `busy`. The configuration can replace the host of a URL
 * (`tonearm.hosts`), as tests do.
 */
export interface HttpClient {
  /**
   * Resolves with any status. Rejects with a SourceError: `unreachable`, `busy`, or `changed` if the body is too large
   * (`isTooLarge`), or if a redirect is one too many or leads to an invalid address.
   */
  request(url: string, options: HttpRequest): Promise<HttpAnswer>;
  /**
   * The body as JSON. Rejects like `request`, with `statusError` if the status is not 2xx, and with `changed` if the
   * body is not JSON.
   */
  json<Value = unknown>(url: string, options: HttpRequest): Promise<Value>;
  /** The body as text. Rejects like `request`, and with `statusError` if the status is not 2xx. */
  text(url: string, options: HttpRequest): Promise<string>;
  /**
   * The local address from which requests of the current `load` or `resolve` are sent, if the operator rotates
   * addresses; undefined: the machine's default. Use it as a cache key for what a site binds to an address, such as an
   * anonymous session. Rejects with a SourceError: `busy` if no address is left.
   */
  address(options: { readonly signal: AbortSignal }): Promise<string | undefined>;
  /** The error for a status: `not-found` for 404 and 410, `busy` for 429 and 5xx, otherwise `unavailable`. */
  statusError(answer: HttpAnswer): SourceError;
}

/** The parameters of a request. */
export interface HttpRequest {
  readonly signal: AbortSignal;
  /** Default: GET without a body, POST with one. */
  readonly method?: "GET" | "HEAD" | "POST" | undefined;
  /** Parameters to add to the URL. Undefined values are omitted. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  /** Objects and arrays are sent as JSON, URLSearchParams as a form. */
  readonly body?: string | URLSearchParams | JsonMembers | readonly Json[] | undefined;
  /** Default: `follow`. `manual`: a redirect is returned as the answer. */
  readonly redirect?: "follow" | "manual" | undefined;
  /** Maximum number of redirects to follow; more reject with `changed`. Default: 5; at most 10. */
  readonly redirectsMax?: number | undefined;
  /** Maximum size of the response body, bytes. Default: 8 MiB; at most 64 MiB. */
  readonly sizeBytesMax?: number | undefined;
  /** Time limit in milliseconds, from the call (including the wait for a slot) to the last byte. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
  /** The cookie jar to use. Default: none; cookies are neither sent nor stored. */
  readonly cookies?: CookieJar | undefined;
}

/** A complete response. */
export interface HttpAnswer {
  readonly status: number;
  /** Header values by lower-case name. Values of repeated headers are joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** The URL after redirects. */
  readonly url: string;
  /** The body, decoded with the charset of the content type. Default: UTF-8. */
  readonly text: string;
  readonly bytes: Uint8Array;
}

/**
 * Stores cookies by host (RFC 6265): at most 50 hosts, 50 cookies per host, 4,096 characters per cookie. Cookies live
 * as long as the jar, and are deleted when the site sets them with an expiry in the past (`Max-Age`, `Expires`).
 * `Secure` cookies are sent only to `https` and loopback. `Path`, `SameSite` and the prefixes `__Host-` and `__Secure-`
 * are ignored.
 */
export class CookieJar {
  /** A key with a leading dot stands for a domain and all its hosts. */
  readonly #byHost = new Map<string, Map<string, { readonly value: string; readonly isSecure: boolean }>>();

  /** Stores the value of one `set-cookie` header of a response from `url`, received at `nowMs` (epoch milliseconds). */
  take(url: string, setCookie: string, nowMs = Date.now()): void {
    const [pair = "", ...rest] = setCookie.split(";");
    const equals = pair.indexOf("=");
    if (equals <= 0 || pair.length > 4096) return;
    const attributes = new Map(rest.map((text) => [textOf(text, 0).toLowerCase(), textOf(text, 1)]));
    const { hostname } = new URL(url);
    const domain = attributes.get("domain")?.toLowerCase().replace(/^\./, "");
    const isOfDomain = domain?.includes(".") === true && `.${hostname}`.endsWith(`.${domain}`);
    const host = isOfDomain ? `.${domain}` : hostname;
    const cookies = this.#byHost.get(host) ?? new Map<string, { value: string; isSecure: boolean }>();
    const name = pair.slice(0, equals).trim();
    const isSecure = attributes.has("secure");
    // An attacker on an http connection must not be able to set cookies that https relies on.
    if ((isSecure || cookies.get(name)?.isSecure === true) && !isSafe(url)) return;
    if (isOver(attributes, nowMs)) cookies.delete(name);
    else if (cookies.has(name) || cookies.size < 50)
      cookies.set(name, { value: pair.slice(equals + 1).trim(), isSecure });
    if (cookies.size === 0) this.#byHost.delete(host);
    else if (this.#byHost.size < 50) this.#byHost.set(host, cookies);
  }

  /** The `cookie` header for `url`; undefined if there are no cookies. */
  headerFor(url: string): string | undefined {
    const { hostname } = new URL(url);
    const texts = [...this.#byHost]
      .filter(([host]) => (host.startsWith(".") ? `.${hostname}`.endsWith(host) : hostname === host))
      .flatMap(([, cookies]) => [...cookies])
      .filter(([, { isSecure }]) => !isSecure || isSafe(url))
      .map(([name, { value }]) => `${name}=${value}`);
    return texts.length === 0 ? undefined : texts.join("; ");
  }
}

/** The name (0) or the value (1) of `name=value`. */
function textOf(attribute: string, index: 0 | 1): string {
  return attribute.split("=", 2)[index]?.trim() ?? "";
}

/** True for URLs to which browsers send `Secure` cookies. */
function isSafe(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** True if the cookie has expired. `Max-Age` takes precedence over `Expires`; invalid values are ignored. */
function isOver(attributes: ReadonlyMap<string, string>, nowMs: number): boolean {
  const maxAge = attributes.get("max-age") ?? "";
  return /^-?\d+$/.test(maxAge) ? Number(maxAge) <= 0 : Date.parse(attributes.get("expires") ?? "") <= nowMs;
}

// Caches, backends, pools, programs

/** The limits of a cache. */
export interface CacheOptions {
  /** Default lifetime of a value, milliseconds. A lifetime that is set with a value takes precedence. */
  readonly ttlMs: number;
  /** Maximum number of values. The least recently used value is evicted. */
  readonly entriesMax: number;
  /**
   * True: values survive the plugin thread. They survive the node too if `tonearm.pluginDataPath` names a folder, in a
   * file that only its owner can read. Values must be JSON, or `set` throws a TypeError. One value has at most 64 KiB
   * (a larger one is not persisted), all persisted values of the plugin 1 MiB (the oldest are dropped). A `ttlMs` of
   * `Infinity` never ends. Default: false.
   *
   * `large`: the same, but 2 MiB for one value and for all such values of the plugin, beside the others. For few values
   * that seldom change: the whole file is written each time.
   */
  readonly persist?: boolean | "large";
  /**
   * True: the values are right for any machine with the same options of the plugin, whatever its address, such as a client
   * id that a site gives to everybody. The node may use one of another machine, and take one away that was deleted there
   * because the site refused it. Values must be JSON; one of more than 16 KiB stays on its machine. Default: false.
   */
  readonly isPortable?: boolean;
}

/** A cache: values by key, with a lifetime. */
export interface Cache<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value, ttlMs?: number): void;
  delete(key: string): void;
  /**
   * The cached value, or the result of `make`, which is then cached. Concurrent calls for one key share one call of
   * `make`. Failures reject all of them and are not cached. The signal that `make` gets is aborted when no caller waits
   * any more. With `isKeptFresh`, a call in the last 10 % of a value's lifetime returns it and makes a new one in the
   * background. Rejects with the error of `make`, or with the reason of `signal`.
   */
  getOrMake(
    key: string,
    options: {
      readonly signal: AbortSignal;
      readonly make: (signal: AbortSignal) => Promise<Value | { readonly value: Value; readonly ttlMs: number }>;
      readonly isKeptFresh?: boolean;
    },
  ): Promise<Value>;
}

/**
 * A backend: one of the means to reach a site, with a circuit breaker.
 *
 * The breaker is closed while the backend works. Five failures in a row open it for 30 s, and a SourceError with
 * `retryAfterMs` opens it at once for that long. While it is open, requests are refused. After the pause one trial
 * request runs (half open): success closes the breaker, a failure doubles the pause, up to 30 minutes.
 *
 * A failure may be the fault of what a client asked for, so the breaker opens only for the client whose `load` or
 * `resolve` has failed. It opens for all clients of an account (a key, or an address) once the requests of two of them
 * fail, and for everybody once those of two accounts do; at most three of the five failures of one client or account
 * count then. A client whose last request succeeded is let through all the same. What the plugin's own limits refuse
 * counts neither way.
 */
export interface Backend {
  readonly name: string;
  /**
   * True while `run` refuses requests of the clients that the current work is for: the breaker is open, or half open
   * with a trial request running.
   */
  readonly isOpen: boolean;
  /**
   * Calls `fn` and counts its outcome. SourceErrors of the kinds `not-found`, `unavailable` and `invalid` are answers
   * of the site and count as successes. Errors named `AbortError` do not count. Rejects with the error of `fn`, or with
   * a SourceError `busy`, without calling `fn`, while `isOpen` is true.
   */
  run<Value>(fn: () => Promise<Value>): Promise<Value>;
}

/** The limits of a pool. */
export interface PoolOptions {
  /** Maximum number of calls that run at once, at least 1; further ones wait. */
  readonly concurrencyMax: number;
  /** Maximum number of calls that wait. One more, and the last of the client with most of them is refused. */
  readonly waitingMax: number;
  /**
   * Milliseconds after which a call is asked to end while another client waits whose calls hold fewer permits; three
   * times as long for a client's only one. Default: 3,000; infinite: never.
   */
  readonly yieldAfterMs?: number;
}

/**
 * A pool: runs a bounded number of calls at once. Its permits are shared out between the clients whose loads and links
 * the plugin works for: one client holds three quarters of them at most, and the one with the fewest is served first.
 */
export interface Pool {
  /**
   * Calls `fn` as soon as the pool has a permit, those of one client in the order of the calls, and holds the permit
   * until `fn` has ended. The signal given to `fn` fires with `signal`, and when the permit is needed by others. Rejects
   * with the error of `fn`, or a SourceError `busy` if that signal made it fail. Without calling `fn` it rejects with
   * the reason of `signal` if that is aborted while the call waits, or with a SourceError `busy` if too many wait.
   */
  run<Value>(fn: (signal: AbortSignal) => Promise<Value>, options: { readonly signal: AbortSignal }): Promise<Value>;
}

/** The parameters of a program run. */
export interface RunOptions {
  /** The arguments, passed as they are. */
  readonly args: readonly string[];
  readonly signal: AbortSignal;
  /** Time limit in milliseconds, after which the program and its child processes are killed. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum size of standard output, bytes; more is an error. Default: 16 MiB. */
  readonly outputBytesMax?: number | undefined;
  /** Maximum number of programs that the plugin runs at once; further ones wait. Default: 2. */
  readonly concurrencyMax?: number | undefined;
}

/** The result of a program run. */
export interface RunResult {
  /** The exit code; null if a signal killed the program. */
  readonly exitCode: number | null;
  readonly stdout: string;
  /** The last 4,096 characters of standard error. */
  readonly stderr: string;
}
