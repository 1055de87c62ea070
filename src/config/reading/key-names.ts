// How a written name finds its key: by path as in a file or on the command line, or by the name of an environment
// variable. Spring's relaxed spelling throughout. Main thread, at start.

import { canonicalName } from "../../lib/canonical-name.ts";
import { ALL_KEYS } from "../keys/all-keys.ts";
import type { Key } from "../keys/key.ts";

/** A key that was found, and the rest of the written name: see `Setting.tail`. */
export interface FoundKey {
  readonly key: Key<unknown>;
  readonly tail: string | undefined;
  /** True when an environment variable is one of the misspelt names. */
  readonly isMisspelt: boolean;
}

interface VariablePattern {
  readonly key: Key<unknown>;
  readonly pattern: RegExp;
  readonly isMisspelt: boolean;
}

const KEY_BY_CANONICAL_PATH = new Map(ALL_KEYS.map((key) => [canonicalName(key.path), key]));

/** Trees last: `LAVALINK_PLUGINS_DIR` is a separate key, not part of the tree `lavalink.plugins`. */
const VARIABLE_PATTERNS: readonly VariablePattern[] = ALL_KEYS.toSorted(treesLast).flatMap((key) => [
  { key, pattern: variablePattern(key, variableBodyOf(key, "_?")), isMisspelt: false },
  ...(key.docs.misspeltVariables ?? []).map((name) => ({
    key,
    pattern: variablePattern(key, name),
    isMisspelt: true,
  })),
]);

/** The first names of all paths, as environment variables begin: `SERVER_`, `LAVALINK_`, `TONEARM_` … */
const OUR_VARIABLE = new RegExp(`^(${[...new Set(ALL_KEYS.map(({ path }) => firstName(path)))].join("|")})[._-]`, "i");

/** True for an environment variable that may be meant for us, by its first word. */
export function isOurVariable(name: string): boolean {
  return OUR_VARIABLE.test(name);
}

/** Finds the key for a path of names; numbers in it are indexes of lists. */
export function findByPath(names: readonly string[]): FoundKey | undefined {
  for (let length = names.length; length > 0; length--) {
    const key = KEY_BY_CANONICAL_PATH.get(canonicalName(names.slice(0, length).join(".")));
    if (key === undefined) continue;
    const tail = length === names.length ? undefined : names.slice(length).join(".");
    return isTailAllowed(key, tail) ? { key, tail, isMisspelt: false } : undefined;
  }
  return undefined;
}

/** Finds the key an environment variable sets. */
export function findByVariable(name: string): FoundKey | undefined {
  const upper = normalVariable(name);
  if (!isOurVariable(upper)) return undefined;
  for (const { key, pattern, isMisspelt } of VARIABLE_PATTERNS) {
    const match = pattern.exec(upper);
    if (match !== null) return { key, tail: tailOf(key, match[1]?.toLowerCase()), isMisspelt };
  }
  return undefined;
}

/** True when keys lie below this path: then a plain value there is a mistake. */
export function isGroup(names: readonly string[]): boolean {
  const prefix = `${canonicalName(names.join("."))}.`;
  return [...KEY_BY_CANONICAL_PATH.keys()].some((path) => path.startsWith(prefix));
}

/** The usual name of the environment variable for a key: `LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL`. */
export function variableNameOf(key: Key<unknown>): string {
  return variableBodyOf(key, "_");
}

function treesLast(a: Key<unknown>, b: Key<unknown>): number {
  return Number(a.shape === "tree") - Number(b.shape === "tree");
}

/** `separator` stands between the words of one name: `PLAYER_UPDATE`, or `PLAYER_?UPDATE` for a pattern. */
function variableBodyOf(key: Key<unknown>, separator: "_" | "_?"): string {
  const names = key.path.split(".");
  return names
    .map((name) => wordsOf(name).join(separator))
    .join("_")
    .toUpperCase();
}

function variablePattern(key: Key<unknown>, body: string): RegExp {
  const tail = { one: "", list: "(?:_(\\d{1,4})_?)?", map: "_(.+)", tree: "(?:_(.+))?" }[key.shape];
  return new RegExp(`^${body}${tail}$`);
}

/** In the name of a variable, underscores stand between the names of a tree. */
function tailOf({ shape }: Key<unknown>, written: string | undefined): string | undefined {
  return shape === "tree" ? written?.replaceAll("_", ".") : written;
}

function isTailAllowed(key: Key<unknown>, tail: string | undefined): boolean {
  if (key.shape === "one") return tail === undefined;
  return key.shape !== "list" || tail === undefined || /^\d{1,4}$/.test(tail);
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
