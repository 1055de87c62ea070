// Starts a plugin in its thread: loads its module, checks its options, sets it up and reports its manifest; then passes
// on requests. The same in a separate thread (main.ts) and in tests. Plugin thread.

import { stat } from "node:fs/promises";
import type { Endpoint } from "../../bridge/channel.ts";
import type { RouteCommand } from "../../bridge/commands.ts";
import { PendingRequests } from "../../bridge/pending-requests.ts";
import type {
  FilterManifest,
  GivenOptions,
  PluginAnswer,
  PluginCommand,
  PluginEvent,
  PluginManifest,
  PluginSettings,
} from "../../bridge/plugin-messages.ts";
import type { PlayerWish, WishResults } from "../../bridge/plugin-players.ts";
import { RemoteError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import { FILTER_IMPORT_MS_MAX } from "../../filters/module-filters.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/message-of.ts";
import { pause } from "../../lib/pause.ts";
import { REDACTED, redactText } from "../../lib/redact-text.ts";
import { createCpuClock } from "../../lib/thread-cpu.ts";
import { createLogger, type Logger } from "../../log/log.ts";
import { DispatcherPool } from "../../network/dispatcher-pool.ts";
import { createHostResolver } from "../../network/host-resolver.ts";
import { OutboundGuard } from "../../network/outbound-guard.ts";
import { OwnNetwork } from "../../network/own-network.ts";
import {
  API_VERSION,
  type OptionSchema,
  type OptionValues,
  type Plugin,
  type PluginLogger,
  type SourceAnswer,
  SourceError,
} from "../../plugin-api/plugin.ts";
import { problemsOfChanges, withChanges } from "../../plugin-options/option-changes.ts";
import { allowedServersOf, secretsOf } from "../../plugin-options/option-leaves.ts";
import { readOptions } from "../../plugin-options/read-options.ts";
import { currentOwners, currentWork } from "./current-work.ts";
import { PluginHttpClient } from "./host/http-client.ts";
import { createPluginLogger } from "./host/limited-logger.ts";
import { PersistedCaches } from "./host/persisted-caches.ts";
import { LivingHost } from "./host/plugin-host.ts";
import { PluginRoutes } from "./plugin-routes.ts";
import { PluginWorker } from "./plugin-worker.ts";
import { readAnswer } from "./written-answer.ts";

const SETUP_TIMEOUT_MS = 10_000;
const REPORT_INTERVAL_MS = 1000;
const WISH_TIMEOUT_MS = 15_000;
/** Wishes for players without an answer. */
const WISHES_MAX = 1000;
const NAME = /^[a-z][a-z0-9-]{0,39}$/;
/** Depth of loads of plugins that cause loads of plugins. */
const DEPTH_MAX = 5;
/** Why it cannot be set up: is shown to the operator for as long as that is so. */
const PROBLEM_LENGTH_MAX = 4096;
/** Shorter ones would be found in every other word. */
const HIDDEN_LENGTH_MIN = 4;

interface PluginEnvironment {
  /** To the main thread. */
  readonly port: Endpoint<PluginEvent, PluginCommand>;
  readonly settings: PluginSettings;
  readonly clock: Clock;
  /** Loads the module; for tests. */
  readonly importModule?: (url: string) => Promise<unknown>;
  /** CPU time of this thread; for tests. */
  readonly cpuMs?: () => number;
}

/** Says `ready` or `unusable` in the end. Never rejects. */
export async function startPlugin(environment: PluginEnvironment): Promise<void> {
  const { port, settings, importModule = importUrl } = environment;
  let plugin: Plugin | undefined;
  let living: LivingPlugin | undefined;
  try {
    plugin = pluginOf(await importModule(settings.module));
    living = new LivingPlugin(plugin, environment);
    await living.setUp();
  } catch (error) {
    const text = messageOf(error);
    const problem = redactText(living?.hide(text) ?? text, PROBLEM_LENGTH_MAX);
    const areOptionsWrong = error instanceof WrongOptionsError;
    port.postMessage({ type: "unusable", name: plugin?.name, problem, areOptionsWrong });
  }
}

/** Changes with the file: workers import each version once, and can forget none. */
async function versionedUrl(module: URL | string): Promise<string> {
  const url = new URL(module);
  const file = await stat(url).catch(() => undefined); // importing it says why
  if (file !== undefined) url.searchParams.set("version", `${file.mtimeMs}-${file.size}`);
  return url.href;
}

function importUrl(url: string): Promise<unknown> {
  return import(url);
}

/** Throws if the module is not a plugin. */
function pluginOf(module: unknown): Plugin {
  const plugin = (module as { readonly default?: Partial<Plugin> }).default; // a module is an object
  if (typeof plugin !== "object" || plugin === null || typeof plugin.setup !== "function") {
    throw new Error("the module has no plugin as its default export; make it with definePlugin");
  }
  const { name = "", version, apiVersion, config } = plugin;
  if (!NAME.test(name)) throw new Error("a plugin's name is made of lower case letters, digits and dashes");
  if (typeof version !== "string") throw new Error(`the plugin ${name} has no version`);
  if (apiVersion !== API_VERSION) {
    throw new Error(`the plugin ${name} is for version ${apiVersion} of the interface, this node has ${API_VERSION}`);
  }
  if (typeof config !== "object" || config === null)
    throw new Error(`the plugin ${name} has no config; {} is an empty one`);
  return plugin as Plugin; // each member has been checked
}

class WrongOptionsError extends Error {}

/** As they are and as they stand in addresses and JSON; longer ones first, as one may be the beginning of another. */
function hiddenFormsOf(secrets: readonly string[]): readonly string[] {
  const long = secrets.filter((secret) => secret.length >= HIDDEN_LENGTH_MIN);
  const forms = long.flatMap((secret) => [
    ...[secret, JSON.stringify(secret).slice(1, -1)],
    encodeURIComponent(secret.replaceAll(/\p{Surrogate}/gu, "")),
  ]);
  return [...new Set(forms)].toSorted((one, other) => other.length - one.length);
}

interface HostEnvironment {
  readonly options: unknown;
  readonly ownServers: readonly string[];
  readonly persisted: PersistedCaches;
}

/** Answers to what the plugin has asked of the node. */
type Answer = Extract<PluginCommand, { readonly type: "loaded" | "loadFailed" | "wishDone" | "wishFailed" }>;
type LearnCommand = Extract<PluginCommand, { readonly type: "learn" }>;
/** Commands other than answers about addresses, and news of other machines. */
type PlainCommand = Exclude<PluginCommand, RouteCommand | LearnCommand>;

class LivingPlugin {
  readonly #plugin: Plugin;
  readonly #environment: PluginEnvironment;
  readonly #logger: Logger;
  #routes: PluginRoutes | undefined;
  /** Undefined before it has its options: they tell what is known by then. */
  #persisted: PersistedCaches | undefined;
  readonly #loads: PendingRequests<{ readonly load: SourceAnswer }>;
  readonly #wishes: PendingRequests<WishResults>;
  #isReportDue = false;
  #hidden: readonly string[] = [];
  /** Requests received before it was set up. */
  readonly #early: PlainCommand[] = [];
  #onCommand: (command: PlainCommand) => void = () => undefined;

  constructor(plugin: Plugin, environment: PluginEnvironment) {
    this.#plugin = plugin;
    this.#environment = environment;
    this.#loads = new PendingRequests({ clock: environment.clock });
    const error = () =>
      new NodeError("player-busy", `${WISHES_MAX} requests to players wait for their answers already`);
    this.#wishes = new PendingRequests({ clock: environment.clock, bound: { pendingMax: WISHES_MAX, error } });
    this.#logger = createLogger((level, message, fields) => {
      environment.port.postMessage({ type: "log", level, message, fields });
    });
  }

  /** Throws the reason why it cannot be set up. */
  async setUp(): Promise<void> {
    const { port, clock } = this.#environment;
    const { config, name, version } = this.#plugin;
    const given = await this.#askForOptions();
    if (given.problem !== undefined) throw new Error(given.problem);
    const options = this.#read(given);
    this.#hidden = hiddenFormsOf(secretsOf(config, options));
    const ownServers = allowedServersOf(config, options).map(({ host, port }) => `${host}:${port}`);
    this.#persisted = new PersistedCaches({
      ...{ values: given.persisted, shared: given.shared, clock },
      send: (event) => port.postMessage(event),
    });
    const host = this.#createHost({ options, ownServers, persisted: this.#persisted });
    await this.#withinSetupTime(async () => {
      // The option types match the check just made.
      await this.#plugin.setup(host as Parameters<Plugin["setup"]>[0]);
    });
    host.endSetUp();
    this.#onCommand = this.#server(host);
    const sources = [...host.sources.values()].map((source) => {
      const { name, prefixes = [], hosts = [], endings = [], words = [], fields = [], isMirrored = false } = source;
      return { name, prefixes, hosts, endings, words, fields, ...(isMirrored && { isMirrored }) };
    });
    const filters = await this.#withinSetupTime(() => this.#loadFilters(host));
    const manifest: PluginManifest = {
      ...{ name, version, aliases: host.aliases, sources, ownServers, ...host.extensions.manifests },
      ...(filters.length > 0 && { filters }),
      ...(host.players.isListening && { isListening: true }),
    };
    port.postMessage({ type: "ready", manifest });
  }

  /**
   * Imports their modules once here: what does not load, takes long or never ends must not reach an audio worker. What
   * the plugin itself imports is loaded already and takes no time here: the workers measure that.
   */
  async #loadFilters({ filters }: LivingHost<unknown>): Promise<readonly FilterManifest[]> {
    const { importModule = importUrl, cpuMs = createCpuClock() } = this.#environment;
    const manifests: FilterManifest[] = [];
    let usedMs = 0;
    for (const { name, module, settings } of filters.values()) {
      const url = await versionedUrl(module);
      const startMs = cpuMs();
      const loaded = (await importModule(url)) as { readonly default?: unknown }; // a module is an object
      usedMs += cpuMs() - startMs;
      if (usedMs > FILTER_IMPORT_MS_MAX) {
        const text = `importing the module of the filter ${name} would stop audio: ${Math.round(usedMs)} ms of CPU time`;
        throw new Error(
          `${text}, at most ${FILTER_IMPORT_MS_MAX} for all filters; compute tables in create, or lazily`,
        );
      }
      if (typeof loaded.default !== "function")
        throw new Error(`the module of the filter ${name} has no function as its default export`);
      manifests.push({ name, module: url, settings });
    }
    return manifests;
  }

  async #withinSetupTime<Value>(setup: () => Promise<Value>): Promise<Value> {
    const isOver = new AbortController();
    const late = pause(this.#environment.clock, SETUP_TIMEOUT_MS, isOver.signal).then(() => {
      if (!isOver.signal.aborted) throw new Error(`setting it up took more than ${SETUP_TIMEOUT_MS} ms`);
      return new Promise<never>(() => undefined); // it was in time
    });
    try {
      return await Promise.race([setup(), late]);
    } finally {
      isOver.abort();
    }
  }

  /** Throws a WrongOptionsError. */
  #read({ options, changes }: Extract<GivenOptions, { readonly problem?: undefined }>): OptionValues<OptionSchema> {
    const { config, name } = this.#plugin;
    const path = `plugins.${name}`;
    const fixed = problemsOfChanges(config, changes, { path });
    const { values, problems = [] } = readOptions(config, withChanges(options, changes), { path });
    if (values === undefined || fixed.length > 0) throw new WrongOptionsError([...fixed, ...problems].join("; "));
    return values;
  }

  #createHost({ options, ownServers, persisted }: HostEnvironment): LivingHost<unknown> {
    const { settings, clock, port } = this.#environment;
    const { allow, http, routing } = settings;
    const ownNetwork = new OwnNetwork({ clock, blocks: routing?.ipBlocks ?? [] });
    const guard = new OutboundGuard(allow, { ownServers, ownNetwork, resolve: createHostResolver({ clock }) });
    const log = createPluginLogger({ logger: this.#logger, clock, hide: this.hide });
    this.#routes = this.#createRoutes(guard, log, () => [...host.sources.keys()]);
    const { leave, currentAddress } = this.#routes ?? {};
    const dispatchers = new DispatcherPool({ guard, ...http });
    const host: LivingHost<unknown> = new LivingHost({
      plugin: this.#plugin.name,
      options,
      clock,
      userAgent: http.userAgent,
      http: new PluginHttpClient({ dispatchers, leave, currentAddress, settings, clock }),
      log,
      hide: this.hide,
      persisted,
      load: (identifier, signal) => this.#load(identifier, signal),
      askPlayer: (wish) => this.#askPlayer(wish),
      sendEvent: (event) => port.postMessage({ type: "sendEvent", event }),
      onProgram: (pid, isRunning) => this.#environment.port.postMessage({ type: "program", pid, isRunning }),
      onReport: () => this.#report(host),
    });
    return host;
  }

  /** Behind a proxy, sites see the proxy's address whatever ours is. */
  #createRoutes(
    guard: OutboundGuard,
    logger: PluginLogger,
    sourceNames: () => readonly string[],
  ): PluginRoutes | undefined {
    const { settings, clock, port } = this.#environment;
    const { routing, http } = settings;
    if (routing === undefined || http.proxyUrl !== undefined) return undefined;
    return new PluginRoutes({
      routing,
      resolveTimeoutMs: http.connectTimeoutMs,
      guard,
      clock,
      logger,
      sourceNames,
      send: (event) => port.postMessage(event),
    });
  }

  #askForOptions(): Promise<GivenOptions> {
    const { port } = this.#environment;
    return new Promise((resolve) => {
      this.#onCommand = (command) => {
        if (command.type === "options") resolve(command.given);
        else this.#early.push(command);
      };
      port.on("message", (command) => {
        // Also while it is being set up.
        if (command.type === "route" || command.type === "routeError") this.#routes?.settle(command);
        else if (command.type === "learn") this.#persisted?.learn(command.learnt);
        else this.#onCommand(command);
      });
      port.postMessage({ type: "named", name: this.#plugin.name });
    });
  }

  #server(host: LivingHost<unknown>): (command: PlainCommand) => void {
    const { port, clock, settings } = this.#environment;
    const worker = new PluginWorker({
      host,
      clock,
      log: host.log,
      hide: this.hide,
      proxyUrl: settings.ownProxyUrl,
      userAgent: settings.ownUserAgent,
      send: (event) => port.postMessage(event),
      routeFor: (source, identifier) => this.#routes?.routeFor(source, identifier),
    });
    const carryOut = (command: PlainCommand): void => {
      if ("requestId" in command && command.type !== "abort") worker.execute(command);
      else if (command.type === "abort") worker.abort(command.requestId);
      else if (command.type === "dispose") void host.dispose().then(() => port.postMessage({ type: "disposed" }));
      else if (command.type !== "options") this.#settle(command);
    };
    for (const command of this.#early.splice(0)) carryOut(command);
    return carryOut;
  }

  /** Takes the plugin's secrets out of a text. */
  readonly hide = (text: string): string => {
    return this.#hidden.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
  };

  // The plugin's requests to the node's other sources

  #load(identifier: string, signal: AbortSignal): Promise<SourceAnswer> {
    const work = currentWork();
    const depth = (work?.depth ?? 0) + 1;
    if (depth > DEPTH_MAX) {
      return Promise.reject(new SourceError("invalid", `more than ${DEPTH_MAX} sources ask each other in a row`));
    }
    const { port } = this.#environment;
    const [owner] = work?.owners.all ?? [];
    const onAbandoned = (askId: number): void => port.postMessage({ type: "loadAborted", askId });
    return this.#loads.request("load", { signal, onAbandoned }, (askId) => {
      port.postMessage({ type: "loadRequested", askId, identifier, depth, owner });
    });
  }

  #askPlayer<Kind extends PlayerWish["kind"]>(
    wish: Extract<PlayerWish, { readonly kind: Kind }>,
  ): Promise<WishResults[Kind]> {
    const text = `the player was not ready within ${WISH_TIMEOUT_MS / 1000} s`;
    const timeLimit = { ms: WISH_TIMEOUT_MS, error: () => new NodeError("player-busy", text) };
    const owner = currentOwners().all[0];
    return this.#wishes.request<Kind>(wish.kind as Kind, { timeLimit, owner }, (askId) => {
      this.#environment.port.postMessage({ type: "playerWish", askId, wish });
    });
  }

  #settle(command: Answer): void {
    const { askId } = command;
    if (command.type === "wishDone") {
      this.#wishes.resolve(askId, command.result);
      return;
    }
    if (command.type === "wishFailed") {
      this.#wishes.reject(askId, new RemoteError(command.error));
      return;
    }
    if (command.type === "loaded") {
      this.#loads.resolve(askId, readAnswer(command.answer satisfies PluginAnswer));
      return;
    }
    const { error } = command;
    this.#loads.reject(askId, new SourceError("unavailable", error.message, { cause: new RemoteError(error) }));
  }

  #report(host: LivingHost<unknown>): void {
    if (this.#isReportDue) return;
    this.#isReportDue = true;
    this.#environment.clock.after(REPORT_INTERVAL_MS, () => {
      this.#isReportDue = false;
      this.#environment.port.postMessage({ type: "report", backends: host.backendReports, counts: host.counts });
    });
  }
}
