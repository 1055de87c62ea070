// All plugins of the node: which there are, what they offer, and what they are asked beyond loading: links of tracks,
// and what other sources have. Main thread; built and closed by node.ts.

import type { SiteTrack } from "../../bridge/playable-input.ts";
import type { LinkRequest, PlayableLink } from "../../bridge/playable-link.ts";
import type {
  GivenOptions,
  PluginAnswer,
  PluginEvent,
  PluginManifest,
  PluginSettings,
} from "../../bridge/plugin-messages.ts";
import { RemoteError, toWireError } from "../../bridge/wire-error.ts";
import type { AllowedSources } from "../../control/access/identity.ts";
import type { PluginJson, SourceJson } from "../../control/protocol/sources-json.ts";
import type { FoundTracks, LoadResult } from "../../control/sources/load-result.ts";
import type { PluginFallback } from "../../control/sources/mirror-providers.ts";
import type { Source } from "../../control/sources/source.ts";
import type { LoadOptions, TrackLoader } from "../../control/sources/track-loader.ts";
import type { LinkSource } from "../../control/workers/link-source.ts";
import type { RouteSource } from "../../control/workers/route-source.ts";
import type { Threads } from "../../control/workers/threads.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { greediest } from "../../lib/greediest.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type Owner, playingOwnerOf, type WorkOptions } from "../../lib/owners.ts";
import type { PlainTree, PlainTreeMap } from "../../lib/plain-tree.ts";
import type { Logger } from "../../log/log.ts";
import type { Json, JsonMembers } from "../../plugin-api/plugin.ts";
import type { Track } from "../../track/track.ts";
import { firstTrack, isWritten, type WrittenTracks, writeTracks } from "../../track/written-tracks.ts";
import { InstalledPlugin, type PluginRank } from "./installed-plugin.ts";
import { ModuleWatch } from "./module-watch.ts";
import { isOnOwnServer } from "./own-servers.ts";
import type { OfferedFilters } from "./plugin-filters.ts";
import { PluginRunner } from "./plugin-runner.ts";
import type { LinkOptions, PluginSource } from "./plugin-source.ts";
import type { PlayerThreadEvent, PluginThread } from "./plugin-thread.ts";
import { PluginValues, type SharedValues } from "./plugin-values.ts";

/** Hops of a track whose source says that it plays another source's track, which plays another's … */
const LINK_HOPS_MAX = 3;
/** Loads that plugins wait for at once. One more, and the last of the owner with most of them is refused. */
const REQUESTED_LOADS_MAX = 256;

/** One that is to run. */
export interface PluginPlan {
  readonly name: string;
  readonly rank: PluginRank;
  readonly isBuiltIn: boolean;
  /** The node does not start without it. */
  readonly isRequired: boolean;
  /** Known beforehand, for built-in ones. */
  readonly manifest: PluginManifest | undefined;
  /** Hosts of its sources beside those that they claim. */
  readonly siteHosts?: readonly string[];
  /** Why it cannot even be tried. */
  readonly problem: string | undefined;
  /** What of its configuration is left out, and why. */
  readonly warnings?: readonly string[];
  /** Reload it when its module changes on disk. */
  readonly isReloadedOnChange: boolean;
  /** Its options, by the name that it reports. */
  readonly optionsOf: (name: string) => PlainTree | undefined;
  readonly settings: PluginSettings;
  /** Search prefixes of other sources, for its tracks that cannot be started. Default: none. */
  readonly fallback?: readonly string[] | undefined;
}

interface PluginsOptions {
  /** The module that runs in each plugin's thread. */
  readonly entry: URL;
  readonly plans: readonly PluginPlan[];
  /** Folder for the persisted values of plugins: an absolute path; undefined: they do not survive the node. */
  readonly dataFolder: string | undefined;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What the machines of the cluster share. Default: the node is alone. */
  readonly shared?: SharedValues | undefined;
  /** As for audio workers. */
  readonly routes?: RouteSource | undefined;
  /** The sources that the owner may use at this moment; undefined: all. Default: all. */
  readonly allowedFor?: ((owner: Owner) => AllowedSources | undefined) | undefined;
}

/** A load that a plugin's thread waits for. */
interface RequestedLoad {
  readonly thread: PluginThread;
  readonly askId: number;
  readonly owner: Owner;
  readonly abort: AbortController;
}

interface Giving {
  readonly plan: PluginPlan;
  readonly ownName: string;
  readonly changes: PlainTreeMap;
}

/** The node's services for plugins. */
type Loader = Pick<TrackLoader, "load" | "playableInput">;

/** One for the node. Threads start when they are needed. */
export class Plugins implements LinkSource {
  readonly #options: PluginsOptions;
  readonly #plugins: readonly InstalledPlugin[];
  readonly #watches: readonly ModuleWatch[];
  readonly #requestedLoads = new Set<RequestedLoad>();
  readonly #values: PluginValues;
  #loader: Loader | undefined;
  /** What plugins offer has changed. */
  onOffersChanged = (): void => undefined;
  /** Something that a plugin asks of players. */
  onPlayerEvent = (_event: PlayerThreadEvent, _asker: { plugin: InstalledPlugin; thread: PluginThread }): void =>
    undefined;

  constructor(options: PluginsOptions) {
    this.#options = options;
    this.#values = new PluginValues({
      ...{ ...options, folder: options.dataFolder, shared: options.shared },
      onLearnt: (name, learnt) => this.#plugins.find(({ saidName }) => saidName === name)?.runner.learn(learnt),
    });
    this.#plugins = options.plans.map((plan) => this.#install(plan));
    this.#watches = options.plans.flatMap((plan, index) => this.#watch(plan, this.#plugins[index]));
  }

  /** The loader for plugins' requests. Set once, before any request. */
  set loader(loader: Loader) {
    this.#loader = loader;
  }

  /** Learns what the plugins offer that nothing is known of. Rejects with `plugin-off` for a required one only. */
  async start(): Promise<void> {
    await Promise.all(
      this.#options.plans.map(async ({ manifest, isRequired }, index) => {
        if (manifest !== undefined) return;
        try {
          await this.#plugins[index]?.runner.start();
        } catch (error) {
          // The failures of the others are in the log.
          if (isRequired) throw error;
        }
      }),
    );
  }

  /** In their order. */
  sources(rank: PluginRank): readonly Source[] {
    return this.#plugins.filter((plugin) => plugin.rank === rank).flatMap((plugin) => plugin.sources);
  }

  /** Those that are not off and have said what they offer, in their order. */
  get working(): readonly InstalledPlugin[] {
    return this.#plugins.filter(({ runner, manifest }) => manifest !== undefined && runner.state !== "off");
  }

  /** For `/v4/info`: names and versions of the working plugins, with their aliases. */
  get infos(): readonly { readonly name: string; readonly version: string }[] {
    return this.working.flatMap(({ manifest }) => {
      if (manifest === undefined) return [];
      const { name, version, aliases } = manifest;
      return [{ name, version }, ...aliases];
    });
  }

  /** The filters of each plugin, as far as it has said. */
  get filters(): readonly OfferedFilters[] {
    return this.#plugins.map(({ name, manifest, runner }) => {
      const trouble = `the plugin ${name} is off: ${runner.trouble ?? "it could not be started"}`;
      return { plugin: name, filters: manifest?.filters ?? [], trouble: runner.state === "off" ? trouble : undefined };
    });
  }

  /** The hosts of each source, as far as its plugin has said. */
  get sourceHosts(): readonly { readonly name: string; readonly hosts: readonly string[] }[] {
    return this.#options.plans.flatMap(({ siteHosts = [] }, index) => {
      const { sources = [] } = this.#plugins[index]?.manifest ?? {};
      return sources.map(({ name, hosts = [] }) => ({ name, hosts: [...hosts, ...siteHosts] }));
    });
  }

  /** Those that are set, with the sources that each plugin has, as far as it has said. */
  get fallbacks(): readonly PluginFallback[] {
    return this.#options.plans.flatMap(({ name, isBuiltIn, fallback: prefixes = [] }, index) => {
      const plugin = this.#plugins[index];
      if (plugin === undefined || prefixes.length === 0) return [];
      const sourceNames = (plugin.manifest?.sources ?? []).map(({ name }) => name);
      const path = isBuiltIn ? `plugins.${name}.fallback` : `tonearm.plugins: fallback of ${name}`;
      return [{ path, sourceNames, prefixes }];
    });
  }

  pluginsJson(): PluginJson[] {
    return this.#plugins.map((plugin) => plugin.toJson());
  }

  /** Of the plugins of that rank. Default: of all. */
  sourcesJson(rank?: PluginRank): SourceJson[] {
    const plugins = this.#plugins.filter((plugin) => rank === undefined || plugin.rank === rank);
    return plugins.flatMap((plugin) => plugin.sourcesJson());
  }

  /** Reloads a plugin from disk. Undefined if there is none of that name. Rejects with `plugin-off`. */
  async reload(name: string): Promise<PluginJson | undefined> {
    const plugin = this.#named(name);
    if (plugin === undefined) return undefined;
    await plugin.reload();
    return plugin.toJson();
  }

  /**
   * Changes options of a plugin until the node's next start. Undefined if there is none of that name. Rejects as
   * `InstalledPlugin.change`.
   */
  async change(name: string, changes: JsonObject): Promise<PluginJson | undefined> {
    const plugin = this.#named(name);
    if (plugin === undefined) return undefined;
    await plugin.change(changes);
    return plugin.toJson();
  }

  /** Result of a call of a plugin that is not off. Undefined if there is none of that name. */
  async call(plugin: string, name: string, argument: Json): Promise<Json | undefined> {
    const found = this.#named(plugin);
    return found === undefined || found.runner.state === "off" ? undefined : found.call(name, argument);
  }

  /** As in LinkSource. What the track's source names may only come from sources that its owner may use, too. */
  async link(request: LinkRequest, { signal }: { readonly signal: AbortSignal }): Promise<PlayableLink> {
    const { track, owner, ...linkRequest } = request;
    const options = { owner, signal, allowed: this.#options.allowedFor?.(owner) };
    let { sourceName, encoded, userData } = track;
    for (let hop = 0; hop < LINK_HOPS_MAX; hop++) {
      const { source, ownServers } = this.#sourceNamed(sourceName);
      const found = await source.link({ ...linkRequest, encoded, userData: userData as JsonMembers }, options); // as parsed
      if (found.kind === "link") return { ...found, isOwnServer: isOnOwnServer(found.url, ownServers) };
      if (found.kind === "mirror")
        throw new NodeError("mirror-needed", `the site of ${sourceName} gives the node no audio`);
      const other = await this.#trackOf(found.identifier, { ...options, owner: playingOwnerOf(owner) });
      const input = this.#loaded.playableInput(other);
      if (input.kind !== "site") return { kind: "input", input };
      ({ sourceName, encoded, userData } = input.track);
    }
    throw new NodeError("source-unavailable", `more than ${LINK_HOPS_MAX} sources play each other's tracks in a row`);
  }

  /** The ISRC of a mirrored source's track, if the source knows it. Rejects as `link`. */
  async isrcOf({ sourceName, encoded, userData }: SiteTrack, options: WorkOptions): Promise<string | undefined> {
    const { source } = this.#sourceNamed(sourceName);
    const request = { encoded, userData: userData as JsonMembers, reason: "start" as const }; // as parsed
    const found = await source.link(request, { ...options, allowed: this.#options.allowedFor?.(options.owner) });
    return found.kind === "mirror" ? found.isrc : undefined;
  }

  async close(): Promise<void> {
    for (const { abort } of this.#requestedLoads) abort.abort(new NodeError("plugin-lost", "the node is closing"));
    for (const watch of this.#watches) watch.close();
    await Promise.all(this.#plugins.map(({ runner }) => runner.close()));
    await this.#values.close();
  }

  #watch({ settings, problem, isReloadedOnChange }: PluginPlan, plugin: InstalledPlugin | undefined): ModuleWatch[] {
    if (!isReloadedOnChange || problem !== undefined) return [];
    const { clock, logger } = this.#options;
    const onChange = (): void => {
      plugin?.reload().then(
        () => logger.info("plugin reloaded: its files changed", { plugin: plugin.name }),
        (error: unknown) =>
          logger.warn("plugin reload failed after its files changed: the old version stays", {
            plugin: plugin.name,
            error,
          }),
      );
    };
    return [new ModuleWatch({ module: settings.module, clock, logger, onChange })];
  }

  #install(plan: PluginPlan): InstalledPlugin {
    const { name, problem, settings } = plan;
    const { entry, threads, clock, logger, routes } = this.#options;
    const plugin: InstalledPlugin = new InstalledPlugin({
      ...plan,
      clock,
      onTaken: () => this.onOffersChanged(),
      give: (ownName, changes) => this.#give(plugin, { plan, ownName, changes }),
      createRunner: (listener) => {
        return new PluginRunner({
          name,
          entry,
          settings,
          threads,
          clock,
          logger,
          routes,
          problem,
          ...listener,
          onPersisted: (event) => this.#values.onEvent(plugin.saidName ?? "", event),
          onLoadRequested: (requestedLoads, thread) => void this.#load(name, thread, requestedLoads),
          onPlayerEvent: (event, thread) => this.onPlayerEvent(event, { plugin, thread }),
          onLoadAborted: (askId, thread) => {
            for (const load of this.#requestedLoads)
              if (load.askId === askId && load.thread === thread) load.abort.abort();
          },
        });
      },
    });
    return plugin;
  }

  async #give(plugin: InstalledPlugin, { plan, ownName, changes }: Giving): Promise<GivenOptions> {
    const isTaken = this.#plugins.some((other) => other !== plugin && other.isNamed(ownName));
    if (isTaken) return { problem: `there is a plugin named ${ownName} already` };
    plugin.saidName = ownName;
    const options = plan.optionsOf(ownName);
    return { options, changes, ...(await this.#values.open(ownName, { options, changes })) };
  }

  get #loaded(): Loader {
    if (this.#loader === undefined) throw new NodeError("internal", "plugins were asked before the node was built");
    return this.#loader;
  }

  #named(name: string): InstalledPlugin | undefined {
    return this.#plugins.find((plugin) => plugin.name === name);
  }

  #sourceNamed(name: string): { readonly source: PluginSource; readonly ownServers: readonly string[] } {
    for (const { sources, manifest } of this.#plugins) {
      const source = sources.find((candidate) => candidate.name === name);
      if (source !== undefined) return { source, ownServers: manifest?.ownServers ?? [] };
    }
    throw new NodeError("source-unavailable", `the source of this track is not available on this node: ${name}`);
  }

  /** The track for an identifier; the first result of a search, for plugins that mirror tracks. */
  async #trackOf(identifier: string, options: LinkOptions): Promise<Track> {
    const result = await this.#loaded.load(identifier, { ...options, depth: 1 });
    if (result.kind === "track") return result.track;
    if (result.kind === "error") throw new RemoteError(result.error);
    if (result.kind === "playlist") {
      const text = "the reference for the audio of this track leads to a playlist, not to a track";
      throw new NodeError("source-unavailable", `${text}, or to a search`);
    }
    const first = result.kind === "search" ? firstTrack(result.tracks) : undefined;
    if (first !== undefined) return first;
    throw new NodeError("source-unavailable", "the reference for the audio of this track leads to nothing");
  }

  async #load(
    name: string,
    thread: PluginThread,
    requestedLoads: Extract<PluginEvent, { type: "loadRequested" }>,
  ): Promise<void> {
    const { askId, identifier, depth, owner: asker } = requestedLoads;
    const owner = asker ?? [`plugin ${name}`];
    const abort = new AbortController();
    const load: RequestedLoad = { thread, askId, owner, abort };
    this.#requestedLoads.add(load);
    if (this.#requestedLoads.size > REQUESTED_LOADS_MAX) this.#refuseOne();
    try {
      abort.signal.throwIfAborted();
      const allowed = asker && this.#options.allowedFor?.(asker);
      const isPartOfWork = asker !== undefined;
      const options: LoadOptions = { owner, signal: abort.signal, depth, allowed, isPartOfWork };
      const answer = answerOf(await this.#loaded.load(identifier, options));
      thread.send({ type: "loaded", askId, answer });
    } catch (error) {
      thread.send({ type: "loadFailed", askId, error: toWireError(error) });
    } finally {
      this.#requestedLoads.delete(load);
    }
  }

  #refuseOne(): void {
    const refused = greediest(this.#requestedLoads, ({ owner }) => owner);
    if (refused === undefined) return;
    this.#requestedLoads.delete(refused);
    const text = `plugins wait for ${REQUESTED_LOADS_MAX} loads already; try again later`;
    refused.abort.abort(new NodeError("load-busy", text));
  }
}

/** A load's result in the form that plugins receive. */
function answerOf(result: LoadResult): PluginAnswer {
  if (result.kind === "error") throw new RemoteError(result.error);
  if (result.kind === "playlist") {
    const { tracks, ...playlist } = result.playlist;
    // Plain JSON, both from plugins and to clients.
    const pluginInfo = playlist.pluginInfo as JsonMembers;
    return { kind: "playlist", ...playlist, pluginInfo, tracks: written(tracks) };
  }
  return result.kind === "search" ? { kind: "search", tracks: written(result.tracks) } : result;
}

function written(tracks: FoundTracks): WrittenTracks {
  return isWritten(tracks) ? tracks : writeTracks(tracks);
}
