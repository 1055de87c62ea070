// The plugin's host object: assembles the parts of this folder behind the interface of `tonearm/plugin`, and collects
// the plugin's registrations. Plugin thread; one for each life of a plugin.

import { setMaxListeners } from "node:events";
import type { BackendReport } from "../../../bridge/plugin-messages.ts";
import type { Clock } from "../../../lib/clock.ts";
import { onAbort } from "../../../lib/on-abort.ts";
import { pause } from "../../../lib/pause.ts";
import type {
  Backend,
  Cache,
  CacheOptions,
  ClientEvent,
  Filter,
  HttpClient,
  HttpRequest,
  Json,
  LyricsProvider,
  NodeEvent,
  OptionSchema,
  PlayerHandle,
  PluginClock,
  PluginHost,
  PluginInfoModifier,
  PluginLogger,
  PluginRoute,
  Pool,
  PoolOptions,
  RunOptions,
  RunResult,
  SearchProvider,
  Source,
  SourceAnswer,
} from "../../../plugin-api/plugin.ts";
import { Backends } from "./backends.ts";
import { checkFilter } from "./check-filter.ts";
import { Extensions } from "./extensions.ts";
import { HostPlayers, type HostPlayersOptions } from "./host-players.ts";
import { MemoryCache } from "./memory-cache.ts";
import type { PersistedCaches } from "./persisted-caches.ts";
import { Programs, type ProgramsOptions } from "./run-program.ts";
import { Semaphore } from "./semaphore.ts";
import { checkSource } from "./source-rules.ts";

const EVENT_NAMES_MAX = 64;
const CACHES_MAX = 64;
const POOLS_MAX = 64;
const SOURCES_MAX = 100;
const FILTERS_MAX = 20;
const ALIASES_MAX = 50;
const CALLS_MAX = 50;
const NAME_LENGTH_MAX = 100;
const DISPOSE_TIMEOUT_MS = 1000;
const YIELD_AFTER_MS = 3000;

type Call = (argument: Json, signal: AbortSignal) => Promise<Json>;

/** Dependencies of the host. */
interface HostParts<Options> {
  /** The plugin's name. */
  readonly plugin: string;
  readonly options: Options;
  readonly userAgent: string;
  readonly http: HttpClient;
  readonly log: PluginLogger;
  readonly clock: Clock;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
  readonly persisted: PersistedCaches;
  /** Asks all sources of the node. */
  readonly load: (identifier: string, signal: AbortSignal) => Promise<SourceAnswer>;
  /** See HostPlayersOptions. */
  readonly askPlayer: HostPlayersOptions["ask"];
  readonly sendEvent: HostPlayersOptions["send"];
  /** A program runs, or has exited. */
  readonly onProgram: NonNullable<ProgramsOptions["onProgram"]>;
  /** There is something new to report. */
  readonly onReport: () => void;
}

/** One for each life of a plugin. */
export class LivingHost<Options> implements PluginHost<Options> {
  readonly options: Options;
  readonly userAgent: string;
  readonly http: HttpClient;
  readonly log: PluginLogger;
  readonly clock: PluginClock;
  readonly sources = new Map<string, Source>();
  readonly filters = new Map<string, Filter>();
  readonly aliases: { readonly name: string; readonly version: string }[] = [];
  readonly modifiers: PluginInfoModifier[] = [];
  readonly calls = new Map<string, Call>();
  readonly extensions: Extensions;
  readonly players: HostPlayers;
  readonly #parts: HostParts<Options>;
  readonly #abort = new AbortController();
  readonly #backends: Backends;
  readonly #programs: Programs;
  readonly #caches = new Map<string, MemoryCache<unknown>>();
  readonly #pools = new Map<string, Pool>();
  readonly #counts = new Map<string, number>();
  readonly #disposals: (() => void | Promise<void>)[] = [];
  #isSettingUp = true;

  constructor(parts: HostParts<Options>) {
    const { options, userAgent, http, log, clock } = parts;
    this.#parts = parts;
    this.extensions = new Extensions(parts.plugin);
    this.players = new HostPlayers({ log, ask: parts.askPlayer, send: parts.sendEvent });
    this.options = options;
    this.userAgent = userAgent;
    // Each pending request adds a listener.
    setMaxListeners(0, this.signal);
    this.http = this.#endingHttp(http);
    this.log = log;
    this.clock = {
      now: () => clock.epochMs(),
      sleep: (delayMs, signal) =>
        this.#whileAlive(signal, async (ended) => {
          await pause(clock, delayMs, ended);
          ended.throwIfAborted();
        }),
    };
    this.#backends = new Backends(clock, parts);
    this.#programs = new Programs(clock, parts);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get backendReports(): readonly BackendReport[] {
    return this.#backends.reports;
  }

  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  /** Nothing more can be registered. */
  endSetUp(): void {
    this.#isSettingUp = false;
  }

  readonly addSource = (source: Source): void => {
    this.#checkSettingUp("addSource");
    checkSource(source);
    if (this.sources.size >= SOURCES_MAX) throw new Error(`more than ${SOURCES_MAX} sources`);
    if (this.sources.has(source.name)) throw new Error(`the source ${source.name} was added twice`);
    this.sources.set(source.name, source);
  };

  readonly addAlias = (name: string, version: string): void => {
    this.#checkSettingUp("addAlias");
    if (this.aliases.length >= ALIASES_MAX) throw new Error(`more than ${ALIASES_MAX} aliases`);
    this.aliases.push({
      name: String(name).slice(0, NAME_LENGTH_MAX),
      version: String(version).slice(0, NAME_LENGTH_MAX),
    });
  };

  readonly addFilter = (filter: Filter): void => {
    this.#checkSettingUp("addFilter");
    checkFilter(filter);
    if (this.filters.size >= FILTERS_MAX) throw new Error(`more than ${FILTERS_MAX} filters`);
    if (this.filters.has(filter.name)) throw new Error(`the filter ${filter.name} was added twice`);
    this.filters.set(filter.name, filter);
  };

  readonly addPluginInfo = (modifier: PluginInfoModifier): void => {
    this.#checkSettingUp("addPluginInfo");
    this.modifiers.push(modifier);
  };

  readonly addCall = (name: string, carryOut: Call): void => {
    this.#checkSettingUp("addCall");
    if (this.calls.size >= CALLS_MAX) throw new Error(`more than ${CALLS_MAX} calls`);
    this.calls.set(name, carryOut);
  };

  readonly addSearchProvider = (provider: SearchProvider): void => {
    this.#checkSettingUp("addSearchProvider");
    this.extensions.addSearchProvider(provider, this.sources);
  };

  readonly addLyricsProvider = (provider: LyricsProvider): void => {
    this.#checkSettingUp("addLyricsProvider");
    this.extensions.addLyricsProvider(provider);
  };

  readonly addRoute = <Query extends OptionSchema, Body extends OptionSchema>(
    route: PluginRoute<Query, Body>,
  ): void => {
    this.#checkSettingUp("addRoute");
    // Its request is made by these very schemas.
    this.extensions.addRoute(route as unknown as PluginRoute);
  };

  readonly onEvent = (listener: (event: NodeEvent) => void): void => {
    this.#checkSettingUp("onEvent");
    this.players.addListener(listener);
  };

  readonly player = (sessionId: string, guildId: string): PlayerHandle => this.players.handle(sessionId, guildId);

  readonly sendEvent = (event: ClientEvent): void => this.players.sendEvent(event);

  readonly load = (identifier: string, { signal }: { readonly signal: AbortSignal }): Promise<SourceAnswer> => {
    return this.#whileAlive(signal, (ended) => this.#parts.load(identifier, ended));
  };

  readonly cache = <Value>(name: string, options: CacheOptions): Cache<Value> => {
    const known = this.#caches.get(name);
    if (known === undefined && this.#caches.size >= CACHES_MAX) throw new Error(`more than ${CACHES_MAX} caches`);
    const { clock, persisted } = this.#parts;
    const cache = known ?? new MemoryCache(options, clock, persisted.persistenceOf(name, options));
    this.#caches.set(name, cache);
    // The type of the values under a name is the plugin's responsibility.
    return cache as Cache<unknown> as Cache<Value>;
  };

  readonly backend = (name: string, options: { readonly host?: string } = {}): Backend =>
    this.#backends.get(name, options);

  readonly pool = (name: string, options: PoolOptions): Pool => {
    const known = this.#pools.get(name);
    if (known !== undefined) return known;
    if (this.#pools.size >= POOLS_MAX) throw new Error(`more than ${POOLS_MAX} pools`);
    const pool = this.#createPool(name, options);
    this.#pools.set(name, pool);
    return pool;
  };

  readonly run = (program: string, options: RunOptions): Promise<RunResult> => {
    return this.#whileAlive(options.signal, (signal) => this.#programs.run(program, { ...options, signal }));
  };

  readonly count = (event: string, by = 1): void => {
    const name = String(event).slice(0, NAME_LENGTH_MAX);
    if (!this.#counts.has(name) && this.#counts.size >= EVENT_NAMES_MAX) return;
    // A counter is a whole number, and only increases.
    if (!Number.isSafeInteger(by) || by < 1) return;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
    this.#parts.onReport();
  };

  readonly onDispose = (dispose: () => void | Promise<void>): void => {
    this.#disposals.push(dispose);
  };

  /** Ends what the plugin does, and has it clean up for 1 s at most. */
  async dispose(): Promise<void> {
    this.#abort.abort(new DOMException("the plugin is ended", "AbortError"));
    this.#programs.close();
    const late = pause(this.#parts.clock, DISPOSE_TIMEOUT_MS);
    await Promise.race([late, Promise.allSettled(this.#disposals.map(async (dispose) => dispose()))]);
  }

  #createPool(name: string, { concurrencyMax, waitingMax, yieldAfterMs = YIELD_AFTER_MS }: PoolOptions): Pool {
    if (!Number.isInteger(concurrencyMax) || concurrencyMax < 1) {
      throw new TypeError(`concurrencyMax of the pool "${name}" must be a whole number of 1 or more`);
    }
    if (!Number.isInteger(waitingMax) || waitingMax < 0) {
      throw new TypeError(`waitingMax of the pool "${name}" must be a whole number of 0 or more`);
    }
    const bounds = { runningMax: concurrencyMax, waitingMax, yieldAfterMs };
    const semaphore = new Semaphore(this.#parts.clock, { ...bounds, what: name });
    return { run: (fn, { signal }) => this.#whileAlive(signal, (ended) => semaphore.run(fn, { signal: ended })) };
  }

  #endingHttp(http: HttpClient): HttpClient {
    return {
      request: (url, request) =>
        this.#whileAlive(request.signal, (signal) => http.request(url, { ...request, signal })),
      json: <Value>(url: string, request: HttpRequest) =>
        this.#whileAlive(request.signal, (signal) => http.json<Value>(url, { ...request, signal })),
      text: (url, request) => this.#whileAlive(request.signal, (signal) => http.text(url, { ...request, signal })),
      address: ({ signal: asked }) => this.#whileAlive(asked, (signal) => http.address({ signal })),
      statusError: (answer) => http.statusError(answer),
    };
  }

  /**
   * Runs `work` with a signal that also aborts with the plugin. Done by hand: the result of `AbortSignal.any` with a
   * signal that lives as long as the thread would be retained as long.
   */
  async #whileAlive<Value>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    this.signal.throwIfAborted();
    const ended = new AbortController();
    const stopListening = onAbort(this.signal, () => ended.abort(this.signal.reason));
    try {
      return await work(AbortSignal.any([signal, ended.signal]));
    } finally {
      stopListening();
    }
  }

  #checkSettingUp(name: string): void {
    if (!this.#isSettingUp) throw new Error(`${name} can only be called within setup`);
  }
}
