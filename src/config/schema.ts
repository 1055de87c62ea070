// All sections, and how a written name finds its key: by path as in a file or on the command line, or by the name of an
// environment variable. Spring's relaxed spelling throughout. Main thread, at start.

import { canonicalName } from "./key.ts";
import { entriesOf, type KeyEntry, type Section } from "./section.ts";
import { foreignSections, lavalinkSection } from "./sections/lavalink.ts";
import { lavalinkServerSection } from "./sections/lavalink-server.ts";
import { loggingSection, metricsSection, sentrySection } from "./sections/observability.ts";
import { httpConfigSection, timeoutsSection } from "./sections/outgoing-http.ts";
import { rateLimitSection } from "./sections/rate-limit.ts";
import { serverSection } from "./sections/server.ts";
import { tonearmSection } from "./sections/tonearm.ts";

/** In the order of the example file. */
const SECTIONS: readonly Section[] = [
  serverSection,
  lavalinkServerSection,
  httpConfigSection,
  timeoutsSection,
  rateLimitSection,
  lavalinkSection,
  metricsSection,
  sentrySection,
  loggingSection,
  foreignSections,
  tonearmSection,
];

/** A key that was found, and the rest of the written name: see `Setting.tail`. */
export interface FoundKey {
  readonly entry: KeyEntry;
  readonly tail: string | undefined;
  /** True when an environment variable is one of the misspelt names. */
  readonly isMisspelt: boolean;
}

interface VariablePattern {
  readonly entry: KeyEntry;
  readonly pattern: RegExp;
  readonly isMisspelt: boolean;
}

export const KEY_ENTRIES: readonly KeyEntry[] = SECTIONS.flatMap(entriesOf);

const ENTRY_BY_CANONICAL_PATH = new Map(KEY_ENTRIES.map((entry) => [canonicalName(entry.path), entry]));

/** Trees last: `LAVALINK_PLUGINS_DIR` is a key of its own, not part of the tree `lavalink.plugins`. */
const VARIABLE_PATTERNS: readonly VariablePattern[] = KEY_ENTRIES.toSorted(treesLast).flatMap((entry) => [
  { entry, pattern: variablePattern(entry, variableBodyOf(entry, "_?")), isMisspelt: false },
  ...(entry.key.docs.misspeltVariables ?? []).map((name) => ({
    entry,
    pattern: variablePattern(entry, name),
    isMisspelt: true,
  })),
]);

/** The first names of all paths, as environment variables begin: `SERVER`, `LAVALINK`, `TONEARM` … */
const VARIABLE_ROOTS = new Set(KEY_ENTRIES.map((entry) => firstName(entry.path).toUpperCase()));

/** Finds the key for a path of names; numbers in it are indexes of lists. */
export function findByPath(names: readonly string[]): FoundKey | undefined {
  for (let length = names.length; length > 0; length--) {
    const entry = ENTRY_BY_CANONICAL_PATH.get(canonicalName(names.slice(0, length).join(".")));
    if (entry === undefined) continue;
    const tail = length === names.length ? undefined : names.slice(length).join(".");
    return isTailAllowed(entry, tail) ? { entry, tail, isMisspelt: false } : undefined;
  }
  return undefined;
}

/** Finds the key an environment variable sets. */
export function findByVariable(name: string): FoundKey | undefined {
  const upper = normalVariable(name);
  if (!VARIABLE_ROOTS.has(upper.split("_", 1)[0] ?? "")) return undefined;
  for (const { entry, pattern, isMisspelt } of VARIABLE_PATTERNS) {
    const match = pattern.exec(upper);
    if (match !== null) return { entry, tail: match[1]?.toLowerCase(), isMisspelt };
  }
  return undefined;
}

/** True when keys lie below this path: then a plain value there is a mistake. */
export function isGroup(names: readonly string[]): boolean {
  const prefix = `${canonicalName(names.join("."))}.`;
  return [...ENTRY_BY_CANONICAL_PATH.keys()].some((path) => path.startsWith(prefix));
}

/** The usual name of the environment variable for a key: `LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL`. */
export function variableNameOf(entry: KeyEntry): string {
  return variableBodyOf(entry, "_");
}

function treesLast(a: KeyEntry, b: KeyEntry): number {
  return Number(a.key.shape === "tree") - Number(b.key.shape === "tree");
}

/** `separator` stands between the words of one name: `PLAYER_UPDATE`, or `PLAYER_?UPDATE` for a pattern. */
function variableBodyOf(entry: KeyEntry, separator: "_" | "_?"): string {
  const names = entry.path.split(".");
  return names
    .map((name) => wordsOf(name).join(separator))
    .join("_")
    .toUpperCase();
}

function variablePattern(entry: KeyEntry, body: string): RegExp {
  const tail = { one: "", list: "(?:_(\\d{1,4})_?)?", map: "_(.+)", tree: "(?:_(.+))?" }[entry.key.shape];
  return new RegExp(`^${body}${tail}$`);
}

function isTailAllowed(entry: KeyEntry, tail: string | undefined): boolean {
  if (entry.key.shape === "one") return tail === undefined;
  return entry.key.shape !== "list" || tail === undefined || /^\d{1,4}$/.test(tail);
}

/** `lavalink.server.password`, `LAVALINK-SERVER-PASSWORD` and `plugins[0]` become underscores and capitals. */
function normalVariable(name: string): string {
  return name.replaceAll(/[.\-[\]]+/g, "_").toUpperCase();
}

function wordsOf(name: string): string[] {
  return name.replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2").split("-");
}

function firstName(path: string): string {
  return path.split(".", 1)[0] ?? "";
}
