// What the log at start says of services that are not sources, where the configuration asks for them: lyrics,
// SponsorBlock, searches of several kinds, and the filters of Lavalink's plugins. Main thread.

import { asksForLyrics } from "../../../plugins/builtin.ts";
import type { NodeConfig } from "../../config/node-config.ts";
import { hasJavaPlugin } from "../../config/plugin-rules.ts";
import { canonicalName } from "../../lib/canonical-name.ts";
import { hasText, isTreeList } from "../../lib/plain-tree.ts";
import type { PluginPlan } from "../manage/plugins.ts";
import { treeAt } from "./configured-tree.ts";
import { lyricsOrderOf } from "./plugin-plans.ts";

const NAMES_MAX = 20;
const NAME_LENGTH_MAX = 60;
const FILTER_PLUGINS = [
  { artifact: "lavadspx-plugin", group: "lavadspx" },
  { artifact: "lavalink-filter-plugin", group: "lavalinkfilterplugin" },
];

interface ServiceOptions {
  readonly config: NodeConfig;
  /** The plugins that are to run. */
  readonly plans: readonly PluginPlan[];
}

interface ServiceSources {
  /** The names of all sources. */
  readonly present: readonly string[];
  /** Whether one of them plays YouTube's videos. */
  readonly areVideosThere: boolean;
}

/** Those that the configuration asks for. */
export function reportServices(options: ServiceOptions, sources: ServiceSources): readonly string[] {
  const lines = [
    lyricsLine(options),
    sponsorBlockLine(options, sources),
    searchLine(options, sources),
    filterLine(options),
  ];
  return lines.flatMap((line) => line ?? []);
}

function lyricsLine({ config, plans }: ServiceOptions): string | undefined {
  const state = stateOf("lrclib", plans);
  const lavalink = (...path: readonly string[]) => treeAt(config.plugins.options.reveal(), path);
  if (state === "off" && !asksForLyrics({ config, lavalink })) return undefined;
  const own = lyricsProvidersOf(plans).flatMap(({ name, sources }) => (sources === undefined ? [] : [name]));
  const site = hasText(lavalink("lrclib", "server")) ? "plugins.lrclib.server" : "lrclib.net";
  const lrclib = {
    on: `LRCLIB (${site}; plugins.lrclib.enabled: false turns it off)`,
    failed: "LRCLIB is off (its set-up failed)",
    off: LRCLIB_OFF,
  }[state];
  return `lyrics: ${[...own, lrclib].join(", ")}`;
}

const LRCLIB_OFF = "LRCLIB is off (set plugins.lrclib.enabled: true)";

function sponsorBlockLine({ config, plans }: ServiceOptions, { areVideosThere }: ServiceSources): string | undefined {
  const state = stateOf("sponsorblock", plans);
  if (state !== "on") {
    const isAsked = state === "failed" || hasJavaPlugin(config.plugins, "sponsorblock-plugin");
    const reason = state === "failed" ? "its set-up failed" : "set plugins.sponsorblock.enabled: true";
    return isAsked ? `SponsorBlock is off (${reason})` : undefined;
  }
  if (!areVideosThere) return undefined;
  const categories = treeAt(config.plugins.options.reveal(), ["sponsorblock", "categories"]);
  if (!hasText(categories)) {
    return "SponsorBlock: skips nothing until a client sets categories (or set plugins.sponsorblock.categories)";
  }
  const shown = isTreeList(categories) ? categories.filter((name) => typeof name === "string").join(", ") : categories;
  return `SponsorBlock: skips ${String(shown)} unless a client sets others`;
}

function searchLine({ config, plans }: ServiceOptions, { present }: ServiceSources): string | undefined {
  if (!isAskedFor("lavasearch-plugin", "lavasearch", config)) return undefined;
  const sources = plans
    .flatMap(({ manifest }) => manifest?.searchProviders ?? [])
    .flatMap(({ source }) => (present.includes(source) ? [source] : []));
  const names = [...new Set(sources)].join(", ");
  return `LavaSearch: ${names === "" ? "tracks only" : `tracks and lists from ${names}; from others tracks only`}`;
}

function filterLine({ config }: ServiceOptions): string | undefined {
  const asked = FILTER_PLUGINS.filter(({ artifact, group }) => isAskedFor(artifact, group, config));
  return asked.length === 0 ? undefined : `filters: those of ${asked.map(({ artifact }) => artifact).join(", ")} too`;
}

/** The names in `plugins.lavalyrics.sources` that no plugin has; none where one of the operator's own may have them. */
export function unknownLyrics({ config, plans }: ServiceOptions): readonly string[] {
  if (plans.some(({ isBuiltIn }) => !isBuiltIn)) return [];
  const known = lyricsProvidersOf(plans).map(({ name }) => name);
  return lyricsOrderOf(config)
    .filter((name) => hasText(name) && !known.includes(canonicalName(name)))
    .slice(0, NAMES_MAX)
    .map((name) => name.slice(0, NAME_LENGTH_MAX));
}

/** Of the plugins whose set-up has not failed. */
function lyricsProvidersOf(plans: readonly PluginPlan[]) {
  return plans.flatMap(({ manifest, problem }) => (problem === undefined ? (manifest?.lyricsProviders ?? []) : []));
}

function isAskedFor(artifact: string, group: string, { plugins }: NodeConfig): boolean {
  return hasJavaPlugin(plugins, artifact) || hasText(treeAt(plugins.options.reveal(), [group]));
}

function stateOf(plugin: string, plans: readonly PluginPlan[]): "on" | "failed" | "off" {
  const plan = plans.find(({ name, isBuiltIn }) => isBuiltIn && name === plugin);
  if (plan === undefined) return "off";
  return plan.problem === undefined ? "on" : "failed";
}
