// What a plugin is and what the node gives it: the whole of `tonearm/plugin`. It imports nothing of ours, so that a
// plugin is compiled and tested without the node. All of a plugin's code runs on a thread of its own, never on the main
// thread nor where sound is made. docs/plugins.md walks through one. Long because it is one interface, each member with
// its meaning, unit and errors.

/** The version of this interface. A plugin for another one is not set up. */
export const API_VERSION = 1;

/** Data that crosses between threads and ends in JSON. */
export type Json = null | boolean | number | string | readonly Json[] | JsonMembers;
/** An object of it. */
export interface JsonMembers {
  readonly [name: string]: Json;
}

// A plugin

/** What the module's default export is: made with `definePlugin`. */
export interface Plugin<Options extends OptionSchema = OptionSchema> {
  /** Lower case, digits and dashes; at most 40 characters. Its options stand under `plugins.<name>`. */
  readonly name: string;
  /** Semantic; shown in `/v4/info` and in the log. */
  readonly version: string;
  /** `API_VERSION` of the interface that it was written for. */
  readonly apiVersion: number;
  /** The options that an operator can set, by their names. Checked before `setup`; unknown ones are refused. */
  readonly config: Options;
  /**
   * Registers what the plugin offers. Called once for each life of its thread, with options that are checked and
   * complete; options that are changed begin a new one. What it throws switches the plugin off until it is reloaded,
   * or leaves the life before as it is. Takes 10 s at most.
   */
  setup(host: PluginHost<OptionValues<Options>>): void | Promise<void>;
}

/** Returns `plugin` as it is, with the types of its options worked out. */
export function definePlugin<const Options extends OptionSchema>(plugin: Plugin<Options>): Plugin<Options> {
  return plugin;
}

// Options

/** Options by their names. */
export type OptionSchema = Readonly<Record<string, OptionType>>;

interface Described {
  /** For people: what it does, with its unit. */
  readonly meaning: string;
  /** Only the configuration sets it; who may change options while the node runs may not change this one. */
  readonly isFixed?: boolean;
}

/**
 * One option. Without a `default` it is undefined unless set; with `isRequired` the plugin is off until it is set. A
 * `secret` is kept out of log lines and errors. `server` is the address of a server of the operator's own, `http` or
 * `https`: the plugin and its tracks may reach exactly that host and port also in a private network.
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
  | (Described & { readonly type: "flag"; readonly default: boolean })
  | (Described & { readonly type: "choice"; readonly names: readonly string[]; readonly default: string })
  | (Described & { readonly type: "texts"; readonly default?: readonly string[] })
  /** Options within options. */
  | (Described & { readonly type: "group"; readonly members: OptionSchema })
  /** Any number of groups in a list. At most 100. */
  | (Described & { readonly type: "groups"; readonly members: OptionSchema })
  /** Groups by free names. At most 100. */
  | (Described & { readonly type: "named"; readonly members: OptionSchema });

/** What `setup` gets for a schema. */
export type OptionValues<Schema extends OptionSchema> = {
  readonly [Name in keyof Schema]: OptionValue<Schema[Name]>;
};
type OptionValue<Type extends OptionType> = Type extends { readonly type: "flag" }
  ? boolean
  : Type extends { readonly type: "choice"; readonly names: readonly (infer Name)[] }
    ? Name
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
 * What the node gives a plugin. Valid until `signal` is aborted; then `http`, `load`, `run` and `clock.sleep` reject
 * with its reason, also what is under way.
 */
export interface PluginHost<Options = unknown> {
  readonly options: Options;
  /** `Tonearm/<version>`: how the node names itself to sites. */
  readonly userAgent: string;
  /** Aborted when the plugin is reloaded, lost or the node closes. */
  readonly signal: AbortSignal;
  readonly http: HttpClient;
  readonly clock: PluginClock;
  readonly log: PluginLogger;

  /** Offers a source. Within `setup` only. Throws for a name that is taken, and for claims that make no sense. */
  addSource(source: Source): void;
  /**
   * A further name under which `/v4/info` lists the plugin, with its version: clients look for names of Lavalink's
   * plugins before they use what those offer. Within `setup` only.
   */
  addAlias(name: string, version: string): void;
  /**
   * Adds members to `pluginInfo` of tracks and playlists that this plugin's sources find. Later ones override. Within
   * `setup` only.
   */
  addPluginInfo(modifier: PluginInfoModifier): void;
  /**
   * Something that routes of the node ask of a plugin that comes with it, such as Lavalink's `/youtube`. 15 s at most;
   * rejects with a SourceError. Within `setup` only.
   */
  addCall(name: string, carryOut: (argument: Json, signal: AbortSignal) => Promise<Json>): void;

  /**
   * Asks all sources of the node for an identifier, as a client would: `scsearch:…`, a link. Takes 20 s at most.
   * Rejects with a SourceError. What the plugin's own requests have asked for counts: five such calls deep is the end.
   */
  load(identifier: string, options: { readonly signal: AbortSignal }): Promise<SourceAnswer>;
  /** A cache in this thread, gone with it unless it is kept. The same name gives the same cache. */
  cache<Value>(name: string, options: CacheOptions): Cache<Value>;
  /**
   * A way to reach a site (a client identity, a host, a key), with its health: counted, shown to the operator, closed
   * while it fails. The same name gives the same way. At most 64.
   */
  way(name: string): Way;
  /** Runs a program. Never through a shell. Rejects with a SourceError. */
  run(program: string, options: RunOptions): Promise<RunResult>;
  /** Adds to a counter of the plugin, shown in metrics as `tonearm_plugin_events_total`. At most 64 names. */
  count(event: string, by?: number): void;
  /** Called once when the plugin ends; takes 1 s at most. */
  onDispose(dispose: () => void | Promise<void>): void;
}

/** Time, passed in so that tests can move it. */
export interface PluginClock {
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after `delayMs` milliseconds, or rejects with the reason of `signal`. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
}

/** Lines of the node's log, with the plugin's name. Secrets are taken out; at most 100 lines a minute are written. */
export interface PluginLogger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

// Sources

/**
 * What a source may be asked for, as plain data: the main thread looks here first, so that a plugin's thread is not
 * started for identifiers of others. What it does not exclude, `load` may still turn down.
 */
export interface Claims {
  /** Beginnings of identifiers, in lower case or as they are written: `scsearch:`. */
  readonly prefixes?: readonly string[];
  /** Hosts of `http` and `https` links (the scheme may be missing): `soundcloud.com`, `*.bandcamp.com`. */
  readonly hosts?: readonly string[];
  /** How the paths of `http` and `https` links end, in lower case and beginning with a dot: `.rss`. */
  readonly endings?: readonly string[];
  /** Bare words of letters, digits, `-` and `_`: of this length, with this beginning, or both. */
  readonly words?: readonly { readonly startsWith?: string; readonly length?: number }[];
}

/** Finds tracks under identifiers, and knows where their sound is. */
export interface Source extends Claims {
  /** As in a track's `sourceName`; what clients look for in `info.sourceManagers`. At most 64 characters. */
  readonly name: string;
  /** Further fields of its encoded tracks, in their order. New ones are only ever added at the end. */
  readonly fields?: readonly TrackField[];
  /**
   * Finds what an identifier stands for. Undefined: not this source's, the next one is asked. Rejects with a
   * SourceError; anything else is a fault of the plugin. 20 s at most, all sources together.
   */
  load(request: LoadRequest): Promise<SourceAnswer | undefined>;
  /**
   * Where the sound of one of its tracks is to be had now. Called shortly before it is needed, again before it expires
   * and after it was refused, also while the track plays. 15 s at most.
   */
  resolve(request: ResolveRequest): Promise<Playable>;
}

export interface LoadRequest {
  /** As the client wrote it, at most 4,096 characters. */
  readonly identifier: string;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** What a source has found. */
export type SourceAnswer =
  | { readonly kind: "track"; readonly track: SourceTrack }
  /** At most 10,000 tracks; what is more is left out. `selectedTrack`: an index, -1 (the default) for none. */
  | {
      readonly kind: "playlist";
      readonly name: string;
      readonly tracks: readonly SourceTrack[];
      readonly selectedTrack?: number;
      readonly pluginInfo?: JsonMembers;
    }
  | { readonly kind: "search"; readonly tracks: readonly SourceTrack[] }
  | { readonly kind: "empty" }
  /** The sound is elsewhere: all sources are asked for that identifier. At most five times in a row. */
  | { readonly kind: "reference"; readonly identifier: string };

/** One track. Texts are cut at 65,535 bytes. */
export interface SourceTrack {
  /** What the source knows it by; comes back in `resolve`. Never a link that expires, nor a secret. */
  readonly identifier: string;
  readonly title: string;
  /** Default: `Unknown artist`. */
  readonly author?: string | undefined;
  /** Milliseconds; undefined: endless or not known. */
  readonly lengthMs?: number | undefined;
  /** Default: whether `lengthMs` is undefined. A stream cannot be sought in. */
  readonly isStream?: boolean | undefined;
  /** For people. */
  readonly uri?: string | null | undefined;
  readonly artworkUrl?: string | null | undefined;
  readonly isrc?: string | null | undefined;
  readonly pluginInfo?: JsonMembers | undefined;
  /** Values of the source's `fields`, by name. */
  readonly fields?: Readonly<Record<string, string | boolean | null>> | undefined;
}

/** A field of an encoded track behind its source's name (protocol-v4.md section 5.4). */
export interface TrackField {
  readonly name: string;
  readonly type: "text" | "optionalText" | "flag";
}

/** Whose sound is wanted, and why. */
export interface ResolveRequest {
  /** As it was found, or as a client keeps it. */
  readonly track: SourceTrack;
  /** What the client has put into the track's `userData`. */
  readonly userData: JsonMembers;
  /** `start`: it is about to be played. The others ask for a fresh one, nothing from a cache. */
  readonly reason: "start" | "expiring" | "refused";
  /**
   * With `refused`: the HTTP status with which the last one was refused. 429: the address that it was good from is
   * barred, which says nothing about the link.
   */
  readonly status?: number | undefined;
  /** What was played last: to go on with the same bytes, the same rendition is wanted. */
  readonly rendition?: string | undefined;
  readonly signal: AbortSignal;
}

/** Where the sound is. */
export type Playable =
  | {
      readonly kind: "link";
      /** `http` or `https`; a media file, a live stream or an HLS playlist. Checked by the outbound guard. */
      readonly url: string;
      /** Sent with each request for it, to its own host and, within HLS, to those that the playlist names. */
      readonly headers?: Readonly<Record<string, string>> | undefined;
      /** Epoch milliseconds. Default: it never does. */
      readonly expiresAtMs?: number | undefined;
      /** Names these bytes: as long as it stays the same, playing goes on at the byte where the last link ended. */
      readonly rendition?: string | undefined;
      /**
       * The site wants long files in steps of so many bytes (65,536 to 1,073,741,824, whole), asked for in a header or
       * in the query (`range=0-99`). Any other number is a fault of the plugin, and the track is not played.
       */
      readonly rangeStep?: { readonly bytes: number; readonly by: "header" | "query" } | undefined;
    }
  /** It plays what this identifier plays: another source's track, or the first that a search finds (`ytsearch:…`). */
  | { readonly kind: "reference"; readonly identifier: string };

/** Members to add. Called for every track and playlist: must be quick. */
export interface PluginInfoModifier {
  track?(track: SourceTrack): JsonMembers;
  playlist?(playlist: Extract<SourceAnswer, { readonly kind: "playlist" }>): JsonMembers;
}

// Errors

/**
 * Why a site's answer is no track. `not-found` makes an empty result. `unavailable` (private, region, age, login, paid)
 * is told to the client and not tried again. `busy` (too many requests, site down), `changed` (the answer makes no
 * sense) and `unreachable` count against the way that was taken.
 */
export type SourceErrorKind = "not-found" | "unavailable" | "busy" | "changed" | "unreachable" | "invalid";

/** What `load`, `resolve` and the host's calls reject with. The message goes to clients: no secrets. */
export class SourceError extends Error {
  override readonly name = "SourceError";
  readonly kind: SourceErrorKind;
  /** With `busy`: the site wants to be left alone for so many milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: SourceErrorKind,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }
}

// HTTP

/**
 * The plugin's way out: through the outbound guard and the proxy that are configured, for all or for it alone. Where
 * the operator rotates addresses for the source (`tonearm.routePlanner.sources`), all requests of one `load` or
 * `resolve` leave from one of them, and so do those for the link that it finds; on 429 a request is sent again from
 * another, and rejects with `busy` where none is left. At most 32 requests at once, more wait; bodies under way have
 * 64 MiB together, and each 512 KiB whatever the others take: what is beyond that fails as `busy`. The host of an
 * address can be replaced in the configuration (`hosts`), as tests do.
 */
export interface HttpClient {
  /** Whatever its status. Rejects with a SourceError: `unreachable`, `busy`, `changed` for a body that is too large. */
  request(url: string, options: HttpRequest): Promise<HttpAnswer>;
  /** The body as JSON. Rejects like `request`, with `statusError` unless 2xx, and with `changed` for what is none. */
  json<Value = unknown>(url: string, options: HttpRequest): Promise<Value>;
  /** The body as text, the same. */
  text(url: string, options: HttpRequest): Promise<string>;
  /**
   * The address that requests of this `load` or `resolve` leave from by now, where the operator rotates addresses;
   * undefined: the machine's own. For what a site gives out to one address (an anonymous session), as a key to keep it
   * under. Rejects with a SourceError, `busy` where no address is left.
   */
  address(options: { readonly signal: AbortSignal }): Promise<string | undefined>;
  /** What a status means: `not-found` for 404 and 410, `busy` for 429 and 5xx, else `unavailable`. */
  statusError(answer: HttpAnswer): SourceError;
}

/** What to ask for. */
export interface HttpRequest {
  readonly signal: AbortSignal;
  /** Default: GET, or POST with a body. */
  readonly method?: "GET" | "HEAD" | "POST" | undefined;
  /** Added to the address. Undefined ones are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  /** An object or list is sent as JSON, URLSearchParams as a form. */
  readonly body?: string | URLSearchParams | JsonMembers | readonly Json[] | undefined;
  /** Default: followed, five at most. `manual`: the redirect is the answer. */
  readonly redirect?: "follow" | "manual" | undefined;
  /** Bytes of the body, at most; default 8 MiB, highest 64 MiB. */
  readonly sizeBytesMax?: number | undefined;
  /** With the wait for its turn, to the last byte in; default 10,000 ms. */
  readonly timeoutMs?: number | undefined;
  /** Where cookies are kept and taken from: `host.http` has none of its own. */
  readonly cookies?: CookieJar | undefined;
}

/** What came back, whole. */
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; of repeated ones the values joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** The address after redirects. */
  readonly url: string;
  /** UTF-8, or as the content type says. */
  readonly text: string;
  readonly bytes: Uint8Array;
}

/**
 * Cookies by host (RFC 6265): of 50 hosts at most, 50 each, 4,096 bytes each. They live as long as the jar, and go when
 * the site sets them as over (`Max-Age`, `Expires`). `Secure` ones are for `https` and loopback only. `Path`,
 * `SameSite` and the prefixes `__Host-` and `__Secure-` are not looked at.
 */
export class CookieJar {
  /** A leading dot: of a domain with all its hosts. */
  readonly #byHost = new Map<string, Map<string, { readonly value: string; readonly isSecure: boolean }>>();

  /** Takes the value of one `set-cookie` header that `url` has answered with, at `nowMs` (epoch milliseconds). */
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
    // Whoever listens in on http must not be able to set what https relies on.
    if ((isSecure || cookies.get(name)?.isSecure === true) && !isSafe(url)) return;
    if (isOver(attributes, nowMs)) cookies.delete(name);
    else if (cookies.has(name) || cookies.size < 50)
      cookies.set(name, { value: pair.slice(equals + 1).trim(), isSecure });
    if (cookies.size === 0) this.#byHost.delete(host);
    else if (this.#byHost.size < 50) this.#byHost.set(host, cookies);
  }

  /** The `cookie` header for `url`; undefined: none. */
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

/** Of `name=value` the one or the other. */
function textOf(attribute: string, index: 0 | 1): string {
  return attribute.trim().split(/\s*=\s*/)[index] ?? "";
}

/** Where browsers send what is secure. */
function isSafe(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** `Max-Age` counts before `Expires`; what cannot be read counts for nothing. */
function isOver(attributes: ReadonlyMap<string, string>, nowMs: number): boolean {
  const maxAge = attributes.get("max-age") ?? "";
  return /^-?\d+$/.test(maxAge) ? Number(maxAge) <= 0 : Date.parse(attributes.get("expires") ?? "") <= nowMs;
}

// Caches, ways, programs

/** How much a cache keeps, and for how long. */
export interface CacheOptions {
  /** How long a value is good, milliseconds. A value's own, given with it, counts first. */
  readonly ttlMs: number;
  /** At most so many; the one unused for longest goes. */
  readonly entriesMax: number;
  /**
   * Its values outlast the thread, and the node where the operator has named a folder for them
   * (`tonearm.pluginDataPath`), in a file that only the operator reads. They are JSON: 64 KiB each, 1 MiB with those of
   * all caches of the plugin; what is more goes, the oldest first. `Infinity` as `ttlMs` has no end.
   */
  readonly isKept?: boolean;
}

/** Values by key. Equal wishes at the same time are one. */
export interface Cache<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value, ttlMs?: number): void;
  delete(key: string): void;
  /**
   * The value, or what `make` comes to. Whoever asks meanwhile waits for the same; a failure is kept for nobody.
   * `make` gets a signal that is aborted once nobody waits any more. The value is made anew in the background at 90 %
   * of its life when `isKeptFresh`.
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

/** One way to reach a site, with a circuit breaker. */
export interface Way {
  readonly name: string;
  /** Not to be taken now: it failed often, and its pause is not over. */
  readonly isClosed: boolean;
  /**
   * Takes it: runs `work` and counts what comes of it. SourceErrors of the kinds `not-found`, `unavailable` and
   * `invalid` are the site's answer, no failure of the way. After five failures in a row it is closed for 30 s, then
   * one attempt tells; each further failure doubles the pause, up to 30 minutes. Rejects with what `work` rejects with,
   * or with `busy` while it is closed.
   */
  take<Value>(work: () => Promise<Value>): Promise<Value>;
}

/** How a program is run. */
export interface RunOptions {
  /** Each is one argument, whatever is in it. */
  readonly args: readonly string[];
  readonly signal: AbortSignal;
  /** Then the program and what it has started are killed; default 30,000 ms. */
  readonly timeoutMs?: number | undefined;
  /** Of standard output; more is a failure. Default 16 MiB. */
  readonly outputBytesMax?: number | undefined;
  /** Of this plugin's programs at once; more wait. Default 2. */
  readonly concurrencyMax?: number | undefined;
}

/** What it came to. */
export interface RunResult {
  /** Null when it was killed by a signal. */
  readonly exitCode: number | null;
  readonly stdout: string;
  /** The last 4,096 characters. */
  readonly stderr: string;
}
