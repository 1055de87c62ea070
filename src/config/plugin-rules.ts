// What is said of the keys of plugins when all are known: paths become absolute, and names that nothing will take are
// told. Main thread, at start.

import { resolve } from "node:path";
import { canonicalName } from "../lib/canonical-name.ts";
import type { KeyValues } from "./keys/all-keys.ts";
import type { PluginEntry } from "./keys/plugin-entries.ts";

type PluginValues = KeyValues["plugins"];

/** So many names are told, no more. */
const SHOWN_NAMES_MAX = 20;

/**
 * What of `plugins.<name>` is read, by names in relaxed spelling: that of the plugins that come with the node, and of
 * those of Lavalink that ours take options of.
 */
const BUILT_IN_PLUGINS: ReadonlySet<string> = new Set([
  "bandcamp",
  "dunctebot",
  "getyarn",
  "jellyfin",
  "lavasrc",
  "podcasts",
  "radio",
  "soundcloud",
  "speech",
  "subsonic",
  "twitch",
  "youtube",
  "ytdlp",
]);

/** Artifacts of Lavalink's plugins, and our own that do their work, or the part of it that the node can do. */
export const BUILT_IN_FOR_JAVA: Readonly<Record<string, readonly string[]>> = {
  "lavasrc-plugin": ["speech", "ytdlp"],
  "skybot-lavalink-plugin": ["speech", "getyarn"],
  "youtube-plugin": ["youtube"],
};

/** Of which only these sources are there. */
const PARTLY_BUILT_IN: Readonly<Record<string, string>> = {
  "lavasrc-plugin": "flowery-tts and ytdlp",
  "skybot-lavalink-plugin": "speak and getyarn.io",
};

interface PluginContext {
  readonly cwd: string;
  warn(message: string): void;
  note(message: string): void;
}

/** With absolute paths; without a `dataPath` nothing is kept on disk. */
type CompletedPlugins = Omit<PluginValues, "dataPath"> & { readonly dataPath: string | undefined };

/** The same with absolute paths. */
export function completedPlugins(values: PluginValues, context: PluginContext): CompletedPlugins {
  const unknown = values.javaNames.filter((name) => !Object.hasOwn(BUILT_IN_FOR_JAVA, name));
  if (unknown.length > 0) {
    context.warn(
      `lavalink.plugins: Java plugins cannot run in Tonearm, and it has nothing of its own for ${listed(unknown)}`,
    );
  }
  for (const name of values.javaNames) {
    const sources = PARTLY_BUILT_IN[name];
    if (sources !== undefined) context.note(`lavalink.plugins: of ${name} Tonearm has ${sources} of its own, no more`);
  }
  noteUnclaimed(values, context);
  const entries = values.entries.map((entry) =>
    entry.path === undefined ? entry : { ...entry, path: resolve(context.cwd, entry.path) },
  );
  const dataPath = values.dataPath === "" ? undefined : resolve(context.cwd, values.dataPath);
  return { ...values, entries, dataPath };
}

/** What a plugin is called is known once it is loaded; mostly its package or path says the same. */
function noteUnclaimed({ options, entries }: PluginValues, context: PluginContext): void {
  const unclaimed = Object.keys(options.reveal()).filter(
    (name) => !BUILT_IN_PLUGINS.has(name) && !entries.some((entry) => isNamed(entry, name)),
  );
  if (unclaimed.length === 0) return;
  const paths = listed(unclaimed.map((name) => `plugins.${name}`));
  if (entries.length > 0) context.note(`no effect unless a plugin in tonearm.plugins is named so: ${paths}`);
  else context.warn(`no effect, because Tonearm has no such plugin and tonearm.plugins is empty: ${paths}`);
}

function isNamed(entry: PluginEntry, canonical: string): boolean {
  return canonicalName(entry.package ?? entry.path ?? "").includes(canonical);
}

function listed(names: readonly string[]): string {
  const more = names.length > SHOWN_NAMES_MAX ? ` and ${names.length - SHOWN_NAMES_MAX} more` : "";
  return `${names.slice(0, SHOWN_NAMES_MAX).join(", ")}${more}`;
}
