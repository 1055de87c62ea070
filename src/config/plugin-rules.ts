// The rules for the keys of plugins that need all of them: paths become absolute, and names that no plugin uses are
// reported. Main thread, at start.

import { resolve } from "node:path";
import { canonicalName } from "../lib/canonical-name.ts";
import { closestName } from "../lib/closest-name.ts";
import type { KeyValues } from "./keys/all-keys.ts";
import type { PluginEntry } from "./keys/plugin-entries.ts";

type PluginValues = KeyValues["plugins"];

/** At most this many names are reported. */
const SHOWN_NAMES_MAX = 20;

/**
 * The names below `plugins` that are read, in relaxed spelling: the built-in plugins, and those of Lavalink whose
 * options our plugins accept.
 */
export const BUILT_IN_PLUGINS: ReadonlySet<string> = new Set([
  "applemusic",
  "audius",
  "bandcamp",
  "deezer",
  "dunctebot",
  "getyarn",
  "jellyfin",
  "jiosaavn",
  "lavalyrics",
  "lavasrc",
  "lrclib",
  "podcasts",
  "radio",
  "soundcloud",
  "speech",
  "sponsorblock",
  "spotify",
  "subsonic",
  "tidal",
  "twitch",
  "youtube",
  "ytdlp",
]);

/**
 * Artifacts of Lavalink's plugins, with their group where the name alone says too little, and our built-in replacements
 * for them, or for the part that the node supports.
 */
export const BUILT_IN_FOR_JAVA: Readonly<Record<string, readonly string[]>> = {
  "jiosaavn-plugin": ["jiosaavn"],
  "lavasrc-plugin": ["spotify", "applemusic", "deezer", "tidal", "jiosaavn", "speech", "ytdlp"],
  "skybot-lavalink-plugin": ["speech", "getyarn"],
  "youtube-plugin": ["youtube"],
  "lavalyrics-plugin": ["lrclib"],
  "java-lyrics-plugin": ["lrclib"],
  "dev.schlaubi.lyrics:lavalink": ["lrclib"],
  "lavasearch-plugin": [],
  "lavadspx-plugin": [],
  "lavalink-filter-plugin": [],
  "tts-plugin": ["speech"],
  "sponsorblock-plugin": ["sponsorblock"],
};

/** Plugins of Lavalink of which only these sources are built in. */
const PARTLY_BUILT_IN: Readonly<Record<string, string>> = {
  "lavasrc-plugin": "Spotify, Apple Music, Deezer, Tidal, JioSaavn, flowery-tts and ytdlp",
  "skybot-lavalink-plugin": "speak and getyarn.io",
  "tts-plugin": "the voices of Google Translate",
  "java-lyrics-plugin": "the lyrics routes of lavalyrics-plugin",
  "dev.schlaubi.lyrics:lavalink": "the lyrics routes of lavalyrics-plugin",
};

/**
 * Names below `plugins` that are those of Lavalink's plugins, and whose options are not read here. A plugin in
 * `tonearm.plugins` may have one of them.
 */
export const WITHOUT_OPTIONS: readonly string[] = [
  ...["lavadspx", "lavalink-filter-plugin", "lavasearch", "lyrics", "tts"],
];

interface PluginContext {
  readonly cwd: string;
  warn(message: string): void;
  note(message: string): void;
}

/** Paths are absolute; without a `dataPath` nothing is stored on disk. */
type CompletedPlugins = Omit<PluginValues, "dataPath"> & { readonly dataPath: string | undefined };

/** Returns the values with absolute paths, and reports names that no plugin uses. */
export function completedPlugins(values: PluginValues, context: PluginContext): CompletedPlugins {
  const unknown = values.javaNames.filter((name) => knownJavaName(name) === undefined);
  if (unknown.length > 0) {
    context.warn(
      "lavalink.plugins: Java plugins cannot run in Tonearm (remove them; docs/plugins.md says how to replace one), " +
        `and it has no built-in replacement for ${listed(unknown)}`,
    );
  }
  for (const name of new Set(values.javaNames.map(knownJavaName))) {
    const sources = PARTLY_BUILT_IN[name ?? ""];
    if (sources !== undefined)
      context.note(`lavalink.plugins: instead of ${name}, Tonearm has only ${sources} built in`);
  }
  noteUnclaimed(values, context);
  const entries = values.entries.map((entry) =>
    entry.path === undefined ? entry : { ...entry, path: resolve(context.cwd, entry.path) },
  );
  const dataPath = values.dataPath === "" ? undefined : resolve(context.cwd, values.dataPath);
  return { ...values, entries, dataPath };
}

/** As `BUILT_IN_FOR_JAVA` has it; undefined for a plugin that nothing here replaces. */
function knownJavaName(name: string): string | undefined {
  return [name, name.slice(name.indexOf(":") + 1)].find((known) => Object.hasOwn(BUILT_IN_FOR_JAVA, known));
}

/** Whether `lavalink.plugins` has one of these, named as in `BUILT_IN_FOR_JAVA`. */
export function hasJavaPlugin({ javaNames }: Pick<PluginValues, "javaNames">, ...known: readonly string[]): boolean {
  return javaNames.some((name) => known.includes(knownJavaName(name) ?? ""));
}

/** A plugin's name is known only once it is loaded; usually its package or path has the same name. */
function noteUnclaimed({ options, entries }: PluginValues, context: PluginContext): void {
  // Without further plugins, the log at start names those of Lavalink (plugin-host/plan/source-report.ts).
  const known = new Set([...BUILT_IN_PLUGINS, ...(entries.length === 0 ? WITHOUT_OPTIONS.map(canonicalName) : [])]);
  const unknown = Object.keys(options.reveal())
    .filter((name) => !known.has(name) && !entries.some((entry) => isNamed(entry, name)))
    .map((name) => `plugins.${name}${hintOf(name)}`);
  if (unknown.length === 0) return;
  if (entries.length > 0)
    context.note(`no effect unless a plugin in tonearm.plugins has this name: ${listed(unknown)}`);
  else context.warn(`no effect, because Tonearm has no such plugin and tonearm.plugins is empty: ${listed(unknown)}`);
}

function hintOf(name: string): string {
  const closest = closestName(name, [...BUILT_IN_PLUGINS]);
  return closest === undefined ? "" : ` (did you mean plugins.${closest}?)`;
}

function isNamed(entry: PluginEntry, canonical: string): boolean {
  return canonicalName(entry.package ?? entry.path ?? "").includes(canonical);
}

function listed(names: readonly string[]): string {
  const more = names.length > SHOWN_NAMES_MAX ? ` and ${names.length - SHOWN_NAMES_MAX} more` : "";
  return `${names.slice(0, SHOWN_NAMES_MAX).join(", ")}${more}`;
}
