// What the node plays and what not, for its log at start and for the answers to what is asked for in vain: its sources,
// those that are off with the switch that turns each on, and the services that the configuration asks for and that are
// not there. Main thread; used by node.ts.

import { BUILTIN_PLUGINS, type BuiltinPlugin, isTrue } from "../../../plugins/builtin.ts";
import type { NodeConfig } from "../../config/node-config.ts";
import { hasJavaPlugin, WITHOUT_OPTIONS } from "../../config/plugin-rules.ts";
import type { MirroredSource } from "../../control/sources/mirror-providers.ts";
import { canonicalName } from "../../lib/canonical-name.ts";
import { parseFlag } from "../../lib/flag-words.ts";
import { hasText } from "../../lib/plain-tree.ts";
import type { AbsentSource } from "../manage/absent-sources.ts";
import type { PluginPlan } from "../manage/plugins.ts";
import { mapOf, treeAt } from "./configured-tree.ts";
import {
  FURTHER_PAGES,
  IGNORED_OPTIONS,
  LAVALINK_NAMES,
  SERVICES_WITHOUT_SOURCE,
  SITES_OF_YTDLP,
  SOURCE_FLAGS,
} from "./known-services.ts";
import { reportServices, unknownLyrics } from "./service-report.ts";

/** Flags of one plugin's sources that are read. */
const FLAGS_MAX = 50;
const NAME_LENGTH_MAX = 60;
const LOCAL_SWITCH = "set lavalink.server.sources.local: true and tonearm.local.roots";
const ADD_PLUGIN = "a plugin in tonearm.plugins may add one";
const ADD_SITE = "set plugins.ytdlp.path and add the site to plugins.ytdlp.sites";
const TERMS =
  "youtube is on because lavalink.server.sources.youtube is true; Google's terms of service forbid much of what it " +
  "does: your choice (plugins.youtube.enabled: false turns it off)";

interface ReportOptions {
  readonly config: NodeConfig;
  /** The plugins that are to run. */
  readonly plans: readonly PluginPlan[];
  /** Default: those of this node. */
  readonly builtins?: readonly BuiltinPlugin[] | undefined;
}

/** A line of the log. */
export interface ReportLine {
  readonly level: "info" | "warn";
  readonly message: string;
}

/**
 * The lines for the start. `present`: the names of all sources, in the order in which they are asked; `mirrored`: those
 * of them that are played from others.
 */
export function reportSources(
  options: ReportOptions,
  present: readonly string[],
  mirrored: readonly MirroredSource[] = [],
): ReportLine[] {
  const { config, plans, builtins = BUILTIN_PLUGINS } = options;
  const isPlayable = (name: string): boolean => name !== "local" || config.local.roots.length > 0;
  const on = present.filter(isPlayable);
  const off = [
    ...builtins.flatMap((plugin) => {
      const byAdvice = new Map<string, string[]>();
      for (const { name } of plugin.manifest.sources) {
        if (present.includes(name)) continue;
        const advice = adviceFor(plugin, name, { config, plans });
        byAdvice.set(advice, [...(byAdvice.get(advice) ?? []), name]);
      }
      return Array.from(byAdvice, ([advice, names]) => `${names.join("/")} (${advice})`);
    }),
    ...ownSourcesOff(config),
  ];
  const sources = `sources: ${on.length === 0 ? "none" : on.join(", ")}`;
  const isAsked = isAskedByFormerSource({ config, plans }) && present.includes("youtube");
  const ignored = ignoredOptions(options, present);
  const withoutVideos = missingVideos(options, present);
  const services = reportServices(options, { present, areVideosThere: withoutVideos.length === 0 });
  return [
    { level: "info", message: off.length === 0 ? sources : `${sources}; off: ${off.join(", ")}` },
    ...mirrored.map(mirrorLine),
    ...(isAsked ? [{ level: "info" as const, message: TERMS }] : []),
    ...services.map((message) => ({ level: "info" as const, message })),
    ...(ignored.length > 0 ? [{ level: "info" as const, message: `no effect in Tonearm: ${ignored.join(", ")}` }] : []),
    ...[
      ...unreadableSwitches(options),
      ...plans.flatMap(({ warnings = [] }) => warnings),
      ...missingServices(options, present),
      ...missingLyrics(options),
      ...withoutVideos,
    ].map((message) => ({ level: "warn" as const, message })),
  ];
}

function mirrorLine({ name, prefixes }: MirroredSource): ReportLine {
  if (prefixes.length > 0) return { level: "info", message: `${name}: mirrored to ${prefixes.join(", ")}` };
  const advice = "turn one on, such as youtube or soundcloud, or set plugins.lavasrc.providers";
  return {
    level: "warn",
    message: `${name}: its tracks cannot be played, as no source that has audio is on (${advice})`,
  };
}

/** All sources that may be asked for while they are not there, with the reason. */
export function absentSources({ config, plans, builtins = BUILTIN_PLUGINS }: ReportOptions): readonly AbsentSource[] {
  return [
    ...builtins.flatMap((plugin) => {
      return plugin.manifest.sources.map(({ name, prefixes = [], hosts = [] }) => ({
        name,
        reason: `${name} is off on this node: ${adviceFor(plugin, name, { config, plans })}`,
        refused: plugin.isEmptyWhenOff === true ? ("links" as const) : ("all" as const),
        claims: {
          prefixes,
          hosts: [...(plugin.rank === "last" ? hosts.flatMap(pagesOf) : hosts), ...(FURTHER_PAGES[name] ?? [])],
        },
      }));
    }),
    ...SERVICES_WITHOUT_SOURCE.map(({ name, title, prefixes, hosts }) => ({
      name,
      reason: `Tonearm has no source for ${title}: its searches find nothing, its links are refused (${ADD_PLUGIN})`,
      refused: "links" as const,
      claims: { prefixes, hosts },
    })),
    {
      name: "local",
      reason: `local is off on this node: ${LOCAL_SWITCH}`,
      refused: "none",
      claims: { prefixes: ["/", "./", "../"] },
    },
  ];
}

/** How to turn an absent source of the plugin on. */
function adviceFor(
  { manifest, turnedOnBy }: BuiltinPlugin,
  sourceName: string,
  { config, plans }: Omit<ReportOptions, "builtins">,
): string {
  const { name } = manifest;
  const plan = plans.find((candidate) => candidate.isBuiltIn && candidate.name === name);
  if (plan !== undefined) {
    // Only the sites of yt-dlp are chosen by an option.
    const isChosen = plan.manifest?.sources.some((source) => source.name === sourceName) !== false;
    return isChosen ? "its set-up failed, see the log" : `add its site to plugins.${name}.sites`;
  }
  const { enabled } = mapOf(treeAt(config.plugins.options.reveal(), [name]));
  return enabled === undefined && turnedOnBy !== undefined ? turnedOnBy : `set plugins.${name}.enabled: true`;
}

function ownSourcesOff({ sources, local }: NodeConfig): string[] {
  const isLocalOn = sources.local && local.roots.length > 0;
  const advice = sources.local ? "no tonearm.local.roots" : LOCAL_SWITCH;
  return [
    ...(isLocalOn ? [] : [`local (${advice})`]),
    ...(sources.http ? [] : ["http (set lavalink.server.sources.http: true)"]),
  ];
}

/** Whether nothing but the switch of Lavalink's former source has turned YouTube on. */
function isAskedByFormerSource({ config, plans }: Omit<ReportOptions, "builtins">): boolean {
  const { youtube } = config.sources;
  const isConfigured = hasText(treeAt(config.plugins.options.reveal(), ["youtube"]));
  const isNamed = hasJavaPlugin(config.plugins, "youtube-plugin");
  const isPlanned = plans.some(({ name, isBuiltIn }) => isBuiltIn && name === "youtube");
  return youtube === true && !isConfigured && !isNamed && isPlanned;
}

/** Of the built-in plugins, and of the sources of Lavalink's. */
function unreadableSwitches({ config, builtins = BUILTIN_PLUGINS }: ReportOptions): string[] {
  const own = builtins.map(({ manifest: { name } }) => {
    const path = [name, "enabled"];
    return { key: `plugins.${path.join(".")}`, value: treeAt(config.plugins.options.reveal(), path) ?? "" };
  });
  return [...own, ...sourceFlags(config)].flatMap(({ key, value }) => {
    const isReadable = value === "" || (typeof value === "string" && parseFlag(value) !== undefined);
    return isReadable ? [] : [`${key}: expected true or false; leaving it out`];
  });
}

/** The paths of options that other nodes have and that are set for sources that are there. */
function ignoredOptions({ config, plans }: ReportOptions, present: readonly string[]): string[] {
  const options = config.plugins.options.reveal();
  const ignored = IGNORED_OPTIONS.flatMap(({ path, source }) => {
    const value = treeAt(options, path);
    const flag = treeAt(options, ["lavasrc", "sources", source ?? ""]);
    const isOn = source === undefined || (flag === undefined ? present.includes(source) : isTrue(flag));
    return isOn && hasText(value) ? [["plugins", ...path].join(".")] : [];
  });
  const lyrics = unknownLyrics({ config, plans });
  const isFurther = config.plugins.entries.length > 0;
  const unread = WITHOUT_OPTIONS.filter((name) => !isFurther && hasText(treeAt(options, [name])));
  return [
    ...ignored,
    ...(lyrics.length === 0 ? [] : [`${lyrics.join(", ")} in plugins.lavalyrics.sources`]),
    // Its presence turns LRCLIB on.
    ...unread.map((name) => `${name === "lyrics" ? "the options of " : ""}plugins.${name}`),
  ];
}

function missingServices(options: ReportOptions, present: readonly string[]): string[] {
  const absent = absentSources(options).filter((source) => !present.includes(source.name));
  return askedServices(options.config).flatMap(({ key, name }) => {
    const site = SITES_OF_YTDLP.get(name);
    const isThroughYtdlp = site !== undefined && present.includes("ytdlp");
    if (present.includes(name) || (isThroughYtdlp && isSiteRead(site, options))) return [];
    const advice = isThroughYtdlp ? `add ${site} to plugins.ytdlp.sites` : site === undefined ? ADD_PLUGIN : ADD_SITE;
    const found = absent.find(
      (source) => source.name === name || (site !== undefined && source.claims.hosts?.includes(site)),
    );
    return [`${key} is true, but ${found?.reason ?? `Tonearm has no such source (${advice})`}`];
  });
}

/** Of LavaSrc's sources of lyrics only one is here. */
function missingLyrics({ config, plans }: ReportOptions): string[] {
  const path = ["lavasrc", "lyrics-sources"];
  const asked = Object.entries(mapOf(treeAt(config.plugins.options.reveal(), path))).slice(0, FLAGS_MAX);
  const isAsked = plans.some(({ name, isBuiltIn }) => isBuiltIn && name === "lrclib");
  const advice = isAsked ? "LRCLIB is asked instead" : "set plugins.lavasrc.lyrics-sources.lrcLib: true";
  return asked.flatMap(([written, value]) => {
    const isMissing = typeof value === "string" && parseFlag(value) === true && canonicalName(written) !== "lrclib";
    if (!isMissing) return [];
    const key = `plugins.lavasrc.lyrics-sources.${written.slice(0, NAME_LENGTH_MAX)}`;
    return [`${key} is true, but Tonearm has no lyrics of it (${advice})`];
  });
}

/** SponsorBlock knows YouTube's videos only. */
function missingVideos(options: ReportOptions, present: readonly string[]): string[] {
  const isOn = options.plans.some(({ name, isBuiltIn }) => isBuiltIn && name === "sponsorblock");
  if (!isOn || present.includes("youtube") || isSiteRead("youtube.com", options)) return [];
  const youtube = absentSources(options).find(({ name }) => name === "youtube");
  return [`SponsorBlock has nothing to skip, as ${youtube?.reason ?? "no source plays YouTube's videos"}`];
}

/** Whether yt-dlp is asked for links of the site. */
function isSiteRead(site: string, { plans }: ReportOptions): boolean {
  const sources = plans.find(({ name, isBuiltIn }) => isBuiltIn && name === "ytdlp")?.manifest?.sources ?? [];
  return sources.some(({ prefixes = [], hosts = [] }) => prefixes.includes("https://") || hosts.includes(site));
}

/** The flags that are true, and the sources that they ask for. */
function askedServices({ sources, plugins }: NodeConfig): { readonly key: string; readonly name: string }[] {
  const { vimeo = false, nico = false, youtube = false } = sources;
  const asked = Object.entries({ youtube, vimeo, nico, ...sources.former }).filter(([, isAsked]) => isAsked);
  return [
    ...asked.map(([name]) => ({ key: `lavalink.server.sources.${name}`, name: LAVALINK_NAMES[name] ?? name })),
    ...sourceFlags({ plugins }).flatMap(({ key, name, value }) => (isTrue(value) ? [{ key, name }] : [])),
  ];
}

/** The switches of the sources of Lavalink's plugins, as written. */
function sourceFlags({ plugins }: Pick<NodeConfig, "plugins">) {
  return SOURCE_FLAGS.flatMap(({ path, names }) => {
    const flags = Object.entries(mapOf(treeAt(plugins.options.reveal(), path))).slice(0, FLAGS_MAX);
    return flags.map(([written, value]) => {
      const name = canonicalName(written);
      const key = ["plugins", ...path, written.slice(0, NAME_LENGTH_MAX)].join(".");
      return { key, name: names[name] ?? name, value };
    });
  });
}

/** The hosts of a site's pages: names further below it may serve files, which `http` plays. */
function pagesOf(host: string): string[] {
  return host.startsWith("*.") ? ["www", "m"].map((name) => `${name}${host.slice(1)}`) : [host];
}
