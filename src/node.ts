// Builds every component of a node from its configuration, and closes them in reverse. The only module that connects
// all of them. Main thread.

import type { Server } from "node:http";
import type { OwnNodeEvent, OwnTrackEvent } from "./bridge/plugin-players.ts";
import { readBuildInfo } from "./build-info.ts";
import type { NodeConfig } from "./config/node-config.ts";
import type { ShownConfig } from "./config/shown-config.ts";
import { keyOf, ownerOf } from "./control/access/account.ts";
import { allowedSources } from "./control/access/identity.ts";
import { KeyFile } from "./control/access/key-file.ts";
import { KeyRing } from "./control/access/key-ring.ts";
import { allowedFilters } from "./control/api/filter-settings.ts";
import { NO_CLUSTER } from "./control/cluster/cluster-status.ts";
import { MachineReports } from "./control/cluster/machine-reports.ts";
import { NodeCluster } from "./control/cluster/node-cluster.ts";
import { type Drained, drainNode } from "./control/cluster/node-drain.ts";
import { closeSessions, openStorage } from "./control/cluster/node-storage.ts";
import { openBackends, SharedHealth } from "./control/cluster/shared-health.ts";
import type { Dashboard, DashboardOptions } from "./control/dashboard/dashboard.ts";
import { DeadlyTracks } from "./control/players/deadly-tracks.ts";
import { Player } from "./control/players/player.ts";
import { SharedIncidents } from "./control/players/shared-incidents.ts";
import { UpdateTimer } from "./control/players/update-timer.ts";
import { findBindTrouble } from "./control/route-planner/bind-check.ts";
import { RoutePlanner } from "./control/route-planner/route-planner.ts";
import { Api } from "./control/server/api.ts";
import { listenAdvice } from "./control/server/listen-advice.ts";
import type { TlsListener, TlsListenerOptions } from "./control/server/tls-listener.ts";
import type { Dialect } from "./control/sessions/dialect.ts";
import { LyricsSubscriptions } from "./control/sessions/lyrics-subscriptions.ts";
import { PluginPlayers } from "./control/sessions/plugin-players.ts";
import type { Session } from "./control/sessions/session.ts";
import { Sessions, type SessionsOptions } from "./control/sessions/sessions.ts";
import { Mirrors } from "./control/sources/mirrors.ts";
import { createOwnSources } from "./control/sources/own-sources.ts";
import { TrackLoader } from "./control/sources/track-loader.ts";
import type { NodeState } from "./control/state/node-state.ts";
import { CodecLoader } from "./control/workers/codec-loader.ts";
import { OpusCacheFolder } from "./control/workers/opus-cache-folder.ts";
import { PacerKeeper } from "./control/workers/pacer-keeper.ts";
import { ProbePool } from "./control/workers/probe-pool.ts";
import { systemThreads, type Threads } from "./control/workers/threads.ts";
import { toWorkerSettings } from "./control/workers/to-worker-settings.ts";
import { type PoolLoad, WorkerPool } from "./control/workers/worker-pool.ts";
import { NodeError } from "./errors.ts";
import type { FilterFaultReport } from "./filters/module-filters.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import type { Owner } from "./lib/owners.ts";
import { type Random, systemRandom } from "./lib/random.ts";
import type { Logger } from "./log/log.ts";
import { LogRing } from "./log/log-ring.ts";
import { LogCounter } from "./observability/metrics/log-counter.ts";
import { NodeMetrics } from "./observability/metrics/node-metrics.ts";
import { createInfo } from "./observability/status/node-info.ts";
import { loadOfMachine, loadToJson, overloadToJson } from "./observability/status/node-load.ts";
import { NodeStats } from "./observability/status/node-stats.ts";
import { AbsentSources } from "./plugin-host/manage/absent-sources.ts";
import { listedPlugins } from "./plugin-host/manage/listed-plugins.ts";
import { LyricsProviders } from "./plugin-host/manage/lyrics-providers.ts";
import { NodeSources } from "./plugin-host/manage/node-sources.ts";
import { PluginEvents } from "./plugin-host/manage/plugin-events.ts";
import { PluginFilters } from "./plugin-host/manage/plugin-filters.ts";
import { PluginRest } from "./plugin-host/manage/plugin-rest.ts";
import { Plugins } from "./plugin-host/manage/plugins.ts";
import { SearchProviders } from "./plugin-host/manage/search-providers.ts";
import { mirrorProviders } from "./plugin-host/plan/mirror-providers.ts";
import { BUILTIN_SOURCE_NAMES, lyricsOrderOf, type PlanOptions, planPlugins } from "./plugin-host/plan/plugin-plans.ts";
import { absentSources, type ReportLine, reportSources } from "./plugin-host/plan/source-report.ts";
import { VERSION } from "./version.ts";

/** The entry of the audio workers; compiled, as worker threads load it directly. */
const MEDIA_ENTRY = new URL("./media/main.js", import.meta.url);
/** The entry of the probe thread. */
const PROBE_ENTRY = new URL("./media/probe-main.js", import.meta.url);
/** The entry of the thread that loads codecs for the audio workers. */
const CODEC_ENTRY = new URL("./media/codec-main.js", import.meta.url);
/** The entry of the pacer thread, which sends all packets at their deadlines. */
const PACER_ENTRY = new URL("./media/pacer-main.js", import.meta.url);
/** The entry of each plugin's thread. */
const PLUGIN_ENTRY = new URL("./plugin-host/runtime/main.js", import.meta.url);
/** Where the modules of built-in plugins are. */
const PLUGINS_FOLDER = new URL("../plugins/", import.meta.url);
/** JavaScript heap of the probe thread: the data of one input is small, and many are probed at once. */
const PROBE_HEAP_MEGABYTES_MAX = 256;
const CLOSE_TIMEOUT_MS = 10_000;

/** The system that a node runs on: replaced as a whole for a simulation (lab/simulate). */
export interface NodeEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly threads: Threads;
  /** Replaces listening on a port of this machine as the origin of connections; returns the port. */
  readonly listen: ((server: Server) => number) | undefined;
}

const SYSTEM_ENVIRONMENT: NodeEnvironment = {
  clock: systemClock,
  random: systemRandom,
  threads: systemThreads,
  listen: undefined,
};

export interface NodeOptions {
  readonly logger: Logger;
  /** Buffers the lines of `logger`. Default: none. */
  readonly logRing?: LogRing;
  /** The configuration as a support bundle may show it. */
  readonly shownConfig?: ShownConfig;
  /** Another entry for the audio workers: for tests. */
  readonly mediaEntry?: URL;
  /** Another entry for the probe thread: for tests. */
  readonly probeEntry?: URL;
  /** Another entry for the thread that loads codecs: for tests. */
  readonly codecEntry?: URL;
  /** Another entry for the pacer thread: for tests. */
  readonly pacerEntry?: URL;
  /** Another entry for the threads of plugins: for tests. */
  readonly pluginEntry?: URL;
  /** Where plugins are looked for: for tests, and where the node was not started in this process's folder. */
  readonly plugins?: Partial<PlanOptions>;
  /** Default: the system's. */
  readonly environment?: NodeEnvironment;
}

/** A running node, from `createNode`. */
export interface Node {
  /** The address that clients connect to, with the real port even when the configuration says 0. */
  readonly address: { readonly host: string; readonly port: number };
  /** In a cluster, has players go on at other machines before `close`; that time at the longest. */
  drain(timeoutMs: number): Promise<void>;
  /**
   * Closes the clients' sockets with 1001, then all voice connections, then the threads; at most 10 s. May be called
   * more than once.
   */
  close(): Promise<void>;
}

/** The parts of a node, in the order in which they are closed, and its report; `mirrors` needs no closing. */
interface Parts {
  readonly dashboard: Dashboard | undefined;
  readonly keyFile: KeyFile | undefined;
  /** Opens the sessions of an earlier process. */
  readonly restoreState: () => Promise<void>;
  /** Before the sessions: no plugin's thread is to be started for their ends. */
  readonly pluginEvents: PluginEvents;
  readonly sessions: Sessions;
  /** After the sessions, whose players report their last incidents. */
  readonly sharedIncidents: SharedIncidents;
  readonly api: Api;
  readonly updateTimer: UpdateTimer;
  readonly probePool: ProbePool;
  readonly workers: WorkerPool;
  readonly pacer: PacerKeeper;
  readonly codecs: CodecLoader;
  readonly plugins: Plugins;
  readonly mirrors: Mirrors;
  readonly metrics: NodeMetrics;
  /** Last, as a disk may hang: what is to be stored is read when the sessions close. */
  readonly state: NodeState;
  /** Left with the sessions. Undefined: the node is alone. */
  readonly cluster: NodeCluster | undefined;
  readonly drain: (timeoutMs: number) => Promise<Drained>;
  readonly sharedHealth: SharedHealth | undefined;
  /** What the node plays and what not, for the log. */
  readonly readReport: () => readonly ReportLine[];
}

/**
 * Starts a node; resolves when it serves requests. Throws `listen-failed`, `state-in-use`, or `plugin-off` for a
 * required plugin.
 */
export async function createNode(config: NodeConfig, options: NodeOptions): Promise<Node> {
  const logs = new LogCounter(options.logger);
  const { logger } = logs;
  const { environment = SYSTEM_ENVIRONMENT } = options;
  const parts = await buildParts(config, { ...options, environment, logs });
  const close = (): Promise<void> => closeParts(parts, { clock: environment.clock, logger });
  const { address: host } = config.server;
  await parts.restoreState();
  const { started } = await startPlugins(parts, config, { close, logger });
  try {
    const port = await parts.api.listen({ host, port: config.server.port, listen: environment.listen });
    parts.cluster?.start();
    // Never rejects.
    void started.then(() => parts.state.begin());
    let closing: Promise<void> | undefined;
    return {
      address: { host, port },
      drain: async (timeoutMs) => {
        if (parts.cluster !== undefined) await parts.drain(timeoutMs);
      },
      close: () => {
        closing ??= close();
        return closing;
      },
    };
  } catch (error) {
    await close();
    const advice = listenAdvice(error instanceof Error && "code" in error ? String(error.code) : "");
    const message = `could not listen on ${host}, port ${config.server.port}: ${advice}`;
    throw new NodeError("listen-failed", message, { cause: error });
  }
}

async function buildParts(
  config: NodeConfig,
  options: NodeOptions & { readonly environment: NodeEnvironment; readonly logs: LogCounter },
): Promise<Parts> {
  const { mediaEntry = MEDIA_ENTRY, probeEntry = PROBE_ENTRY, codecEntry = CODEC_ENTRY, logs } = options;
  const { clock, random, threads } = options.environment;
  const { logger } = logs;
  const password = config.server.password.reveal();
  const { keysPath, tls: tlsSettings } = config.server;
  const keys = new KeyRing(clock);
  // First, because the files are read now: a mistake in them ends the start.
  const keyFile = keysPath === undefined ? undefined : new KeyFile({ path: keysPath, ring: keys, clock, logger });
  const { state, cluster: opened, shared } = await openStorage(config, { clock, random, logger });
  const tls = tlsSettings && (await buildTlsListener({ settings: tlsSettings, clock, logger }));
  const disabledFilters = new Set(config.disabledFilters);
  const settings = toWorkerSettings(config);
  const routePlanner = await buildRoutePlanner(config.routePlanner, { clock, random, logger });
  const allowedFor = (owner: Owner) => {
    const name = keyOf(owner);
    return allowedSources({ name, limits: keys.limitsOf(name) });
  };
  const planOptions = { cwd: process.cwd(), builtinFolder: PLUGINS_FOLDER, ...options.plugins };
  const plans = planPlugins(config, planOptions);
  const { builtins } = planOptions;
  const plugins = new Plugins({
    entry: options.pluginEntry ?? PLUGIN_ENTRY,
    threads,
    clock,
    logger,
    routes: routePlanner,
    plans,
    dataFolder: config.plugins.dataPath,
    shared,
    allowedFor,
  });
  const pluginFilters = new PluginFilters({ list: () => plugins.filters, logger });
  if (routePlanner !== undefined) routePlanner.sourceHosts = () => plugins.sourceHosts;
  const codecs = new CodecLoader({ entry: codecEntry, threads, clock, logger });
  const leaseEndMemory = opened?.membership.leaseEnd.memory;
  const pacer = new PacerKeeper({ entry: options.pacerEntry ?? PACER_ENTRY, leaseEndMemory, threads, clock, logger });
  const opusCache = openOpusCache(config.opusCache, { clock, logger });
  const workers = new WorkerPool({
    entry: mediaEntry,
    ...config.workers,
    settings,
    codecs,
    pacer,
    threads,
    clock,
    logger,
    routes: routePlanner,
    links: plugins,
    opusCache,
  });
  plugins.onOffersChanged = () => workers.setFilterModules(pluginFilters.modules);
  pluginFilters.onRefused = () => workers.setFilterModules(pluginFilters.modules);
  const probePool = new ProbePool({
    entry: probeEntry,
    heapMegabytesMax: PROBE_HEAP_MEGABYTES_MAX,
    settings,
    threads,
    clock,
    logger,
    routes: routePlanner,
    links: plugins,
  });
  const own = createOwnSources({
    isEnabled: config.sources,
    localRoots: config.local.roots,
    probe: (input, options) => probePool.probe(input, options),
  });
  const sources = new NodeSources(plugins, { own, clock });
  const absent = new AbsentSources({ sources: absentSources({ config, plans, builtins }), clock, logger });
  const tracks = new TrackLoader({ listSources: () => sources.list(), absent, clock });
  plugins.loader = tracks;
  const provided = { plugins: () => plugins.working, loader: tracks };
  const searches = new SearchProviders(provided);
  const lyrics = new LyricsProviders({ ...provided, order: lyricsOrderOf(config), clock, logger });
  const mirrors = new Mirrors({
    loader: tracks,
    links: plugins,
    list: () => plugins.fallbacks,
    providers: mirrorProviders(config),
    allowedFor,
    clock,
    logger,
  });
  const updateTimer = new UpdateTimer({ clock, intervalMs: config.players.updateIntervalMs });
  const stats = new NodeStats(clock);
  const { connectTimeoutMs: voiceConnectTimeoutMs } = config.voice;
  const deadlyTracks = new DeadlyTracks();
  const sharedIncidents = new SharedIncidents({ clock, logger });
  const limitsOf = (owner: string | undefined) => keys.limitsOf(owner);
  const pluginEvents = new PluginEvents({ plugins: () => plugins.working, clock, logger });
  const tell = (event: OwnNodeEvent, owner: Owner): void => {
    cluster?.onEvent(event);
    lyricsSubscriptions.onEvent(event);
    pluginEvents.tell(event, owner);
  };
  const sessions = new Sessions({
    clock,
    random,
    logger,
    limitsOf,
    readNodeStats: () => withOverload(stats.read(), workers.load),
    recorder: state.recorder,
    onOpened: () => workers.wake(),
    onEvent: tell,
    onDraining: () => cluster?.onDraining(),
    createPlayer: (options) => {
      const onFilterFault = (fault: FilterFaultReport) => pluginFilters.onFault(fault);
      const shared = { tracks, mirrors, updateTimer, deadlyTracks, sharedIncidents, onFilterFault };
      const { sessionId, guildId, account, userId } = options;
      const owner = ownerOf(account, `user ${userId}`);
      const onTrackEvent = (event: OwnTrackEvent) => tell({ ...event, sessionId, guildId }, owner);
      return new Player({ ...options, ...shared, onTrackEvent, workers, clock, logger, voiceConnectTimeoutMs });
    },
  });
  const endSilent = (session: Session) => api.endSilent(session);
  const dialectOf = (version: Dialect["version"]) => api.dialectOf(version);
  const readMachineLoad = () => loadOfMachine(workers.load, sessions);
  const cluster =
    opened &&
    new NodeCluster({ opened, sessions, state, dialectOf, endSilent, readLoad: readMachineLoad, clock, logger });
  const sharedHealth = opened && new SharedHealth({ ...opened, clock, logger });
  sharedHealth?.start(() => openBackends(sources.sourcesJson()));
  const lyricsSubscriptions = new LyricsSubscriptions({ sessions, lyrics, allowedFor, logger });
  const pluginPlayers = new PluginPlayers({ sessions, events: pluginEvents });
  plugins.onPlayerEvent = (event, asker) => pluginPlayers.onPlayerEvent(event, asker);
  const restoreState = () =>
    state.restore({
      sessions,
      dialectOf,
      isKnownOwner: (owner) => keys.has(owner),
      allowedFilters: (owner, filters) => allowedFilters(filters, { disabledFilters, limits: keys.limitsOf(owner) }),
      onSession: (session) => lyricsSubscriptions.restore(session),
    });
  const build = await readBuildInfo();
  const readInfo = () => {
    const { sourceNames } = tracks;
    return createInfo({
      ...build,
      version: VERSION,
      sourceNames,
      filterNames: pluginFilters.names,
      disabledFilters,
      plugins: listedPlugins({ infos: plugins.infos, searches, lyrics }),
    });
  };
  const readStats = () => sessions.stats();
  const readLoad = () => {
    const load = loadToJson(workers.load, {
      lostFrames: workers.totals.counts.lostFrames,
      sharedIncidents: sharedIncidents.recent,
    });
    return { ...load, hasCapacity: load.hasCapacity && !sessions.isDraining };
  };
  const drain = (timeoutMs: number) => drainNode({ sessions, cluster, clock }, { timeoutMs });
  const readState = () => state.report();
  const readCluster = () => cluster?.report() ?? NO_CLUSTER;
  const reports = cluster?.reports ?? new MachineReports(undefined);
  const { endpoint: path, isPasswordNeeded, isEnabled: isScraped } = config.metrics;
  const metrics = new NodeMetrics({
    readStats,
    readLoad,
    readWorkers: () => workers.load.workers,
    sources,
    mirrors,
    audio: workers.totals,
    logCounts: logs.counts,
    readSessions: () => sessions.all(),
    readConnections: () => api.connectionCounts(),
    readState,
    readCluster,
    reports,
    version: VERSION,
    startEpochMs: clock.epochMs(),
    isScraped,
  });
  const { logRing = new LogRing(), shownConfig } = options;
  const readSupport = async (key?: string) => {
    const { nodeBundle } = await import("./observability/support-bundle/node-bundle.ts");
    const node = {
      config: shownConfig,
      log: logRing,
      epochMs: () => clock.epochMs(),
      readStats,
      readLoad,
      readState,
      readCluster,
      readSessions: () => sessions.all(),
      sourcesJson: () => sources.sourcesJson(),
      pluginsJson: () => plugins.pluginsJson(),
      readMetrics: () => metrics.read(undefined),
    };
    return nodeBundle(node, key);
  };
  const shownParts = { sessions, sources, routePlanner, readLoad, readState, readCluster };
  if (cluster !== undefined) {
    // Also without a password for the dashboard of this machine: others may have one.
    const { serveViews } = await import("./control/dashboard/machine-views.ts");
    serveViews(reports, { parts: shownParts, clock, logger });
  }
  const dashboard = await buildDashboard(config, {
    parts: shownParts,
    reports,
    log: logRing,
    readBundle: () => readSupport(),
    clock,
    random,
    logger,
  });
  const api = new Api({
    sessions,
    tracks,
    clock,
    logger,
    disabledFilters,
    moduleFilters: pluginFilters,
    routePlanner,
    password,
    sources,
    searches,
    lyrics,
    lyricsSubscriptions,
    pluginRest: new PluginRest(() => plugins.working),
    readInfo,
    readLoad,
    readSupport,
    drain,
    written: () => state.written(),
    readState,
    readCluster,
    reports,
    keys,
    limitsOf,
    homes: cluster,
    isGateway: config.cluster?.roles.includes("gateway"),
    places: cluster,
    tls,
    dashboard,
    requestLogging: config.logging.requests,
    metrics: isScraped ? { path, isPasswordNeeded, source: metrics } : undefined,
  });
  if (keyFile !== undefined) {
    keyFile.onReplaced = () => {
      sessions.endUnowned((owner) => keys.has(owner));
      api.dropStale();
    };
  }
  const readReport = () => reportSources({ config, plans, builtins }, tracks.sourceNames, mirrors.mirrored);
  return {
    dashboard,
    keyFile,
    pluginEvents,
    sessions,
    sharedIncidents,
    api,
    updateTimer,
    probePool,
    workers,
    pacer,
    codecs,
    plugins,
    mirrors,
    metrics,
    state,
    cluster,
    drain,
    sharedHealth,
    restoreState,
    readReport,
  };
}

/** Waits only for required plugins; the sources of the others become known when `started` resolves. */
async function startPlugins(
  { plugins, mirrors, readReport }: Pick<Parts, "plugins" | "mirrors" | "readReport">,
  config: NodeConfig,
  { close, logger }: { readonly close: () => Promise<void>; readonly logger: Logger },
): Promise<{ readonly started: Promise<void> }> {
  const started = plugins.start().finally(() => {
    for (const { level, message } of readReport()) logger[level](message);
    warnOfUnknownSources(plugins, config.routePlanner, logger);
    mirrors.warnOfUnknown();
  });
  if (!config.plugins.entries.some(({ isRequired }) => isRequired)) return { started };
  try {
    await started;
    return { started };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Warns of misspelt source names: requests of that source would use an address that the operator may want to hide from
 * sites.
 */
function warnOfUnknownSources(
  plugins: Plugins,
  { ipBlocks, sources }: NodeConfig["routePlanner"],
  logger: Logger,
): void {
  if (ipBlocks.length === 0) return;
  const known = ["http", ...BUILTIN_SOURCE_NAMES, ...plugins.sourcesJson().map(({ name }) => name)];
  const unknown = sources.filter((source) => !known.some((name) => name.toLowerCase() === source));
  if (unknown.length > 0) logger.warn("tonearm.routePlanner.sources: unknown sources", { sources: unknown });
}

function withOverload(
  stats: ReturnType<NodeStats["read"]>,
  load: PoolLoad,
): ReturnType<SessionsOptions["readNodeStats"]> {
  const tonearm = overloadToJson(load);
  return tonearm === undefined ? stats : { ...stats, tonearm };
}

/** Undefined without blocks. Blocks that the system does not let us send from are reported, and used all the same. */
async function buildRoutePlanner(
  settings: NodeConfig["routePlanner"],
  { clock, random, logger }: { readonly clock: Clock; readonly random: Random; readonly logger: Logger },
): Promise<RoutePlanner | undefined> {
  if (settings.ipBlocks.length === 0) return undefined;
  const trouble = await findBindTrouble(settings.ipBlocks, { random });
  if (trouble !== undefined) logger.warn(`lavalink.server.ratelimit.ipBlocks: ${trouble.found}: ${trouble.advice}`);
  return new RoutePlanner({ settings, clock, random, logger });
}

/** Undefined without a folder. Nothing waits until it is open: tracks play without it. */
function openOpusCache(
  { path, bytesMax }: NodeConfig["opusCache"],
  parts: { readonly clock: Clock; readonly logger: Logger },
): OpusCacheFolder | undefined {
  if (path === undefined) return undefined;
  const folder = new OpusCacheFolder({ path, bytesMax, ...parts });
  // Never rejects.
  void folder.open();
  return folder;
}

/** Imported only when needed: Node.js's own TLS modules take megabytes. */
async function buildTlsListener(options: TlsListenerOptions): Promise<TlsListener> {
  const { TlsListener } = await import("./control/server/tls-listener.ts");
  return new TlsListener(options);
}

/** Undefined without a dashboard password; then none of its modules are loaded. */
async function buildDashboard(
  { dashboard, server }: NodeConfig,
  options: Omit<DashboardOptions, "passwords" | "isSecure" | "version">,
): Promise<Dashboard | undefined> {
  const { operatorPassword: operator, viewerPassword: viewer } = dashboard;
  if (operator === undefined && viewer === undefined) return undefined;
  const { Dashboard } = await import("./control/dashboard/dashboard.ts");
  const isSecure = server.tls !== undefined;
  return new Dashboard({ ...options, passwords: { operator, viewer }, isSecure, version: VERSION });
}

/** A part that fails or hangs while closing prevents neither the others nor the process from ending. */
async function closeParts(
  parts: Parts,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<void> {
  const { dashboard, keyFile, state, sessions, sharedIncidents, api, updateTimer, probePool, workers, pacer } = parts;
  const { codecs, plugins, metrics, pluginEvents, cluster, sharedHealth } = parts;
  const closeAll = async () => {
    for (const part of [
      dashboard,
      keyFile,
      pluginEvents,
      sharedHealth,
      { close: () => closeSessions({ state, sessions, cluster }) },
      sharedIncidents,
      api,
      updateTimer,
      probePool,
      workers,
      pacer,
      codecs,
      plugins,
      metrics,
      state,
    ]) {
      try {
        await part?.close();
      } catch (error) {
        logger.error("shutdown: a component could not be closed", { error });
      }
    }
  };
  await new Promise<void>((resolve) => {
    const timer = clock.after(CLOSE_TIMEOUT_MS, () => {
      logger.warn("shutdown timed out: the rest ends with the process", { timeoutMs: CLOSE_TIMEOUT_MS });
      resolve();
    });
    void closeAll().then(() => {
      timer.cancel();
      resolve();
    });
  });
}
