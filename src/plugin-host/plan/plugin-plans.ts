// The plugins that the node runs, from its configuration: the enabled built-in ones and the operator's own. Errors that
// are visible without starting a plugin are found here. Main thread; used by node.ts.

import { BUILTIN_PLUGINS, type BuiltinPlugin, type Configured } from "../../../plugins/builtin.ts";
import type { PluginManifest, PluginSettings } from "../../bridge/plugin-messages.ts";
import {
  FALLBACK_EXPECTED,
  fallbackOf,
  isUserAgent,
  PROXY_EXPECTED,
  USER_AGENT_EXPECTED,
} from "../../config/keys/plugin-entries.ts";
import type { NodeConfig } from "../../config/node-config.ts";
import { routingOf } from "../../control/workers/to-worker-settings.ts";
import { canonicalName } from "../../lib/canonical-name.ts";
import { parseFlag } from "../../lib/flag-words.ts";
import { messageOf } from "../../lib/message-of.ts";
import { parseProxyUrl } from "../../lib/parse-url.ts";
import { hasText, isTreeList, type PlainTree, type PlainTreeMap } from "../../lib/plain-tree.ts";
import type { OptionSchema } from "../../plugin-api/plugin.ts";
import { allowedServersOf } from "../../plugin-options/option-leaves.ts";
import { readOptions } from "../../plugin-options/read-options.ts";
import { VERSION } from "../../version.ts";
import { describePlugin, findModule } from "../manage/find-module.ts";
import type { PluginPlan } from "../manage/plugins.ts";
import { mapOf, treeAt } from "./configured-tree.ts";
import { acceptedOptions, isLeftBlank, takeLavalinkOptions, takeLavalinkProxy } from "./lavalink-options.ts";

const COMMON_NAMES = ["enabled", "proxy", "userAgent", "fallback"] as const;

/** The names of all sources that come with the node as plugins, on or off. */
export const BUILTIN_SOURCE_NAMES: readonly string[] = BUILTIN_PLUGINS.flatMap(({ manifest }) =>
  manifest.sources.map(({ name }) => name),
);

/** Inputs of plans beside the configuration. */
export interface PlanOptions {
  /** Where packages are looked for. */
  readonly cwd: string;
  /** Where the modules of built-in plugins are. */
  readonly builtinFolder: URL;
  /** Default: those of this node. */
  readonly builtins?: readonly BuiltinPlugin[] | undefined;
}

/** In the order in which their sources are asked, within a rank. */
export function planPlugins(config: NodeConfig, options: PlanOptions): readonly PluginPlan[] {
  const { builtins = BUILTIN_PLUGINS, builtinFolder, cwd } = options;
  return [
    ...builtins.flatMap((plugin) => planBuiltin(plugin, { config, folder: builtinFolder })),
    ...config.plugins.entries.filter(({ isEnabled }) => isEnabled).map((entry) => planEntry(entry, { config, cwd })),
  ];
}

function planBuiltin(plugin: BuiltinPlugin, { config, folder }: { config: NodeConfig; folder: URL }): PluginPlan[] {
  const { manifest, rank, module } = plugin;
  const { name } = manifest;
  const { common, own } = withoutCommon(mapOf(configuredFor(config, name)));
  const { enabled, ...more } = common;
  const isEnabled = typeof enabled === "string" ? parseFlag(enabled) : undefined;
  const configured: Configured = {
    config,
    own,
    isConfigured: [...Object.values(own), more.proxy, more.userAgent, fallbackText(more.fallback)].some(hasText),
    lavalink: (...path) => treeAt(config.plugins.options.reveal(), path),
  };
  if (!(isEnabled ?? plugin.isOn(configured))) return [];
  const all = config.plugins.options.reveal();
  const taken = takeLavalinkOptions(plugin.lavalinkOptions ?? [], { all, own, schema: manifest.config });
  const path = `plugins.${name}`;
  const accepted =
    plugin.isOfLavalink === true ? acceptedOptions(own, manifest.config, path) : { options: own, warnings: [] };
  const written = merged({ ...plugin.options?.(configured), ...taken.options }, accepted.options, manifest.config);
  const read = readOptions(manifest.config, written, { path });
  const { lavalinkProxy } = plugin;
  const proxy =
    lavalinkProxy === undefined || hasText(more.proxy) ? undefined : takeLavalinkProxy(lavalinkProxy, { all, name });
  const { ownProxyUrl = proxy?.url, ownUserAgent = manifest.userAgent, fallback, expected } = readCommon(more);
  const problems = [...expected.map((what) => `${path}: expected ${what}`), ...(read.problems ?? [])];
  return [
    {
      name,
      rank,
      isBuiltIn: true,
      isRequired: false,
      isReloadedOnChange: false,
      optionsOf: () => written,
      problem: problems.length === 0 ? undefined : problems.join("; "),
      warnings: [...accepted.warnings, ...taken.warnings, ...(proxy?.warnings ?? [])],
      siteHosts: manifest.siteHosts ?? [],
      fallback,
      manifest: knownManifest(plugin, { written, values: read.values }),
      settings: settingsOf(config, { module: new URL(module, folder).href, ownProxyUrl, ownUserAgent }),
    },
  ];
}

/** `plugins.lavalyrics.sources`: names of lyrics providers in the order in which they are asked. */
export function lyricsOrderOf({ plugins }: NodeConfig): readonly string[] {
  const names = treeAt(plugins.options.reveal(), ["lavalyrics", "sources"]);
  const list = typeof names === "string" ? names.split(",").map((name) => name.trim()) : names;
  return isTreeList(list) ? list.filter((name) => typeof name === "string") : [];
}

type CommonMembers = { readonly [Name in (typeof COMMON_NAMES)[number]]?: PlainTree };

/** Their values; an empty text is none. `expected`: what those that are wrong should be. */
function readCommon({ proxy = "", userAgent = "", ...more }: Omit<CommonMembers, "enabled">): {
  readonly ownProxyUrl: string | undefined;
  readonly ownUserAgent: string | undefined;
  readonly fallback: readonly string[] | undefined;
  readonly expected: readonly string[];
} {
  const ownProxyUrl = typeof proxy === "string" ? parseProxyUrl(proxy) : undefined;
  const ownUserAgent = typeof userAgent === "string" && isUserAgent(userAgent) ? userAgent : undefined;
  const fallback = fallbackText(more.fallback);
  const texts = isTreeList(fallback) ? fallback : [fallback];
  const prefixes = texts.every((text) => typeof text === "string") ? fallbackOf(texts) : undefined;
  const expected = [
    ...(proxy !== "" && ownProxyUrl === undefined ? [PROXY_EXPECTED] : []),
    ...(userAgent !== "" && ownUserAgent === undefined ? [USER_AGENT_EXPECTED] : []),
    ...(prefixes === undefined ? [FALLBACK_EXPECTED] : []),
  ];
  return { ownProxyUrl, ownUserAgent, fallback: prefixes, expected };
}

/** `false` is none. */
function fallbackText(fallback: PlainTree = ""): PlainTree {
  return typeof fallback === "string" && parseFlag(fallback) === false ? "" : fallback;
}

/** The members that every built-in plugin has, and its own. Names are in relaxed spelling, as in a variable. */
function withoutCommon(tree: PlainTreeMap): {
  readonly common: CommonMembers;
  readonly own: PlainTreeMap;
} {
  const entries = Object.entries(tree).map(([written, value]) => {
    const common = COMMON_NAMES.find((name) => canonicalName(name) === canonicalName(written));
    return { name: common ?? written, isCommon: common !== undefined, value };
  });
  const pick = (isOfCommon: boolean): PlainTreeMap =>
    Object.fromEntries(
      entries.flatMap(({ name, isCommon, value }) => (isCommon === isOfCommon ? [[name, value] as const] : [])),
    );
  return { common: pick(true), own: pick(false) };
}

/** The manifest that the plugin will report once it is set up. */
function knownManifest(
  plugin: BuiltinPlugin,
  { written, values }: { readonly written: PlainTreeMap; readonly values: object | undefined },
): PluginManifest {
  const { name, version, config, aliases = [] } = plugin.manifest;
  const { searchProviders, lyricsProviders, routes, isListening } = plugin.manifest;
  const sources = (values === undefined ? undefined : plugin.sources?.(written)) ?? plugin.manifest.sources;
  // Read by that very schema.
  const servers =
    values === undefined ? [] : allowedServersOf(config, values as Parameters<typeof allowedServersOf>[1]);
  return {
    name,
    version,
    aliases,
    ownServers: servers.map(({ host, port }) => `${host}:${port}`),
    sources: sources.map((source) => ({ fields: [], ...source })),
    searchProviders,
    lyricsProviders,
    routes,
    isListening,
  };
}

function planEntry(
  entry: NodeConfig["plugins"]["entries"][number],
  { config, cwd }: { readonly config: NodeConfig; readonly cwd: string },
): PluginPlan {
  let module = "";
  let problem: string | undefined;
  try {
    module = findModule(entry, cwd);
  } catch (error) {
    problem = messageOf(error);
  }
  return {
    name: nameOf(entry),
    rank: "middle",
    isBuiltIn: false,
    isRequired: entry.isRequired,
    manifest: undefined,
    problem,
    settings: settingsOf(config, { module, ownProxyUrl: entry.proxy?.reveal(), ownUserAgent: entry.userAgent }),
    fallback: entry.fallback,
    isReloadedOnChange: config.plugins.isReloadedOnChange,
    optionsOf: (name) => configuredFor(config, name),
  };
}

/** Until it says its own. */
function nameOf(entry: NodeConfig["plugins"]["entries"][number]): string {
  return entry.package ?? entry.path?.split(/[\\/]/).at(-1) ?? describePlugin(entry);
}

function settingsOf(
  { http, network, hosts, routePlanner }: NodeConfig,
  { module, ownProxyUrl, ownUserAgent }: Pick<PluginSettings, "module" | "ownProxyUrl" | "ownUserAgent">,
): PluginSettings {
  const { connectTimeoutMs, socketTimeoutMs } = http;
  const proxyUrl = ownProxyUrl ?? http.proxyUrl?.reveal();
  return {
    module,
    hosts,
    allow: network.allow,
    ownProxyUrl,
    ownUserAgent,
    routing: routingOf(routePlanner),
    http: { userAgent: ownUserAgent ?? `Tonearm/${VERSION}`, proxyUrl, connectTimeoutMs, socketTimeoutMs },
  };
}

function configuredFor(config: NodeConfig, name: string): PlainTree | undefined {
  return config.plugins.options.reveal()[canonicalName(name)];
}

/** Both; where the names are the same, the second, unless it is left blank. */
function merged(first: PlainTreeMap, second: PlainTreeMap, schema: OptionSchema): PlainTreeMap {
  const blank = Object.entries(schema).flatMap(([name, type]) =>
    treeAt(first, [name]) !== undefined && isLeftBlank(treeAt(second, [name]), type) ? [canonicalName(name)] : [],
  );
  const own = Object.entries(second).filter(([name]) => !blank.includes(canonicalName(name)));
  const taken = new Set(own.map(([name]) => canonicalName(name)));
  return Object.fromEntries([...Object.entries(first).filter(([name]) => !taken.has(canonicalName(name))), ...own]);
}
