// Collects the settings of file, environment and command line for each key, decides which wins, and reads every key
// once. Collects mistakes, warnings and notes. Main thread, at start.

import { canonicalName } from "../../lib/canonical-name.ts";
import { closestName } from "../../lib/closest-name.ts";
import { parseFlag } from "../../lib/flag-words.ts";
import { ALL_KEYS, type KeyValues, readAllKeys } from "../keys/all-keys.ts";
import type { Key, Setting, SettingReport } from "../keys/key.ts";
import { BUILT_IN_PLUGINS } from "../plugin-rules.ts";
import { type FoundKey, findByPath, findByVariable, isGroup, variableNameOf } from "./key-names.ts";
import { unsetVariable } from "./placeholders.ts";
import { isServiceLink } from "./read-environment.ts";
import { notReplaced } from "./replaced-branches.ts";
import type { ConfigProblem, WrittenSetting } from "./written-setting.ts";

/** Beyond this many unknown keys the problem is not a misspelt name: the others are counted. */
const UNKNOWN_MAX = 20;
/** This many names are in one note. */
const NOTED_MAX = 40;

/** A value as it was written, before any check. */
export interface WrittenValue {
  readonly name: string;
  readonly text: string;
  readonly location: string;
  readonly isShown: boolean;
}

/** Services of LavaSrc whose options are read, and left out where they are wrong. */
const SERVICES = ["applemusic", "jiosaavn", "spotify", "tidal"] as const;

/** Of the options of Lavalink's plugins, those that built-in plugins read, and which reads them (plugins/builtin.ts). */
const READERS_OF_LAVALINK: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  [
    "lavasrc",
    new Map([
      ["flowerytts", "speech"],
      ["providers", "lavasrc"],
      ["sources", "lavasrc"],
      ["ytdlp", "ytdlp"],
      ...SERVICES.map((name) => [name, name] as const),
    ]),
  ],
  ["dunctebot", new Map([["ttslanguage", "speech"]])],
]);

/** Of these readers, those that need an option's value once it is written. */
const READ_STRICTLY: ReadonlySet<string> = new Set(["speech", "ytdlp"]);

/** The starts of paths, and the key without which those have no effect. */
const SWITCHES: readonly (readonly [string, string])[] = [
  ["server.ssl.", "server.ssl.enabled"],
  ["metrics.prometheus.", "metrics.prometheus.enabled"],
  ["lavalink.server.httpConfig.proxy", "lavalink.server.httpConfig.proxyHost"],
  ["tonearm.local.", "lavalink.server.sources.local"],
  ["tonearm.cluster.", "tonearm.cluster.servers"],
];

type SettingsByKey = Map<Key<unknown>, Setting[]>;

/** Sources are added with increasing priority: file, variables, arguments. */
export class SettingTable {
  readonly problems: ConfigProblem[] = [];
  readonly warnings: string[] = [];
  readonly notes: string[] = [];
  /** By the path of the key, in its proper spelling. */
  readonly #settings = new Map<string, Setting[]>();
  #unknownCount = 0;
  /** Where options of plugins were written, at the wrong level. */
  readonly #misplaced = new Set<string>();

  addFile(settings: readonly WrittenSetting[]): void {
    this.#addByPath(settings);
  }

  addArguments(settings: readonly WrittenSetting[]): void {
    this.#addByPath(settings);
  }

  addVariables(settings: readonly WrittenSetting[]): void {
    const added: SettingsByKey = new Map();
    for (const setting of settings) {
      const name = setting.names[0] ?? "";
      if (name === "SPRING_CONFIG_LOCATION") continue;
      const found = findByVariable(name);
      if (found === undefined) this.#unknownVariable(name, setting);
      else {
        if (found.isMisspelt) {
          this.warnings.push(`${setting.location} is misspelt but accepted; its name is ${variableNameOf(found.key)}`);
        }
        add(added, found, setting);
      }
    }
    this.#override(added);
  }

  /** Reads every key once, reporting mistakes. */
  readAll(): KeyValues {
    const withoutEffect: string[] = [];
    const values = readAllKeys((key) => this.#read(key, withoutEffect));
    if (withoutEffect.length > 0) {
      const more = withoutEffect.length > NOTED_MAX ? ` and ${withoutEffect.length - NOTED_MAX} more` : "";
      const names = withoutEffect.slice(0, NOTED_MAX).join(", ");
      this.notes.push(`no effect in Tonearm (docs/reference/configuration.md says why): ${names}${more}`);
    }
    if (this.#unknownCount > UNKNOWN_MAX) {
      this.warnings.push(`${this.#unknownCount - UNKNOWN_MAX} more names are not known keys`);
    }
    return values;
  }

  /** The settings in force, in the order of the keys; a later one of the same name replaces an earlier one. */
  shown(): WrittenValue[] {
    return ALL_KEYS.flatMap((key) => {
      const settings = this.#settings.get(key.path) ?? [];
      // A key with one value takes the last setting (`oneKey`).
      const counting = key.shape === "one" ? settings.slice(-1) : settings;
      return counting.map((setting) => ({
        name: setting.tail === undefined ? key.path : `${key.path}.${setting.tail}`,
        text: setting.text,
        location: setting.location,
        isShown: key.shows(setting),
      }));
    });
  }

  #read<T>(key: Key<T>, withoutEffect: string[]): T {
    const written = this.#settings.get(key.path);
    if (written === undefined) return key.defaultValue;
    const settings = written.filter((setting) => this.#hasValue(key, setting, withoutEffect));
    const value = settings.length > 0 ? key.read(settings, this.#reportFor(key)) : key.defaultValue;
    const isLeftOut = settings.length < written.length;
    if (isLeftOut || isChanged(key, value)) this.#noteEffect(key, withoutEffect);
    return value;
  }

  /** False for a placeholder without a value. It stops the start where the setting would have an effect. */
  #hasValue(key: Key<unknown>, setting: Setting, withoutEffect: string[]): boolean {
    const { missingVariable, tail, location } = setting;
    // Of a Java plugin only the artifact counts, so a placeholder in its version may stay.
    if (missingVariable === undefined || key.path === "lavalink.plugins") return true;
    if (this.#isOverridden(key, setting)) return false;
    if (key.docs.noEffect !== undefined) return false;
    const path = tail === undefined ? key.path : `${key.path}.${tail}`;
    const message = `${path}: ${unsetVariable(missingVariable)}`;
    const ofKey = this.#isSwitchedOff(key.path) ? "none" : "known";
    const effect = key.path === "plugins" ? this.#effectOfOption(tail ?? "") : ofKey;
    if (effect === "known") this.problems.push({ location, message });
    else if (effect === "none") withoutEffect.push(path);
    else this.warnings.push(`${location}: ${message}; leaving it out`);
    return false;
  }

  /** A key with one value takes the last setting (`oneKey`), a map the last of each name (`mapKey`). */
  #isOverridden({ path, shape }: Key<unknown>, setting: Setting): boolean {
    if (shape !== "one" && shape !== "map") return false;
    const name = canonicalName(setting.tail ?? "");
    const last = this.#settings.get(path)?.findLast(({ tail }) => canonicalName(tail ?? "") === name);
    return last !== setting;
  }

  /** Whether the key that turns it on is off, as written or by default. */
  #isSwitchedOff(path: string): boolean {
    const [, switchPath = ""] = SWITCHES.find(([start, name]) => path.startsWith(start) && path !== name) ?? [];
    const text = this.#settings.get(switchPath)?.at(-1)?.text.trim();
    if (text !== undefined) return text === "" || parseFlag(text) === false;
    const defaultValue = ALL_KEYS.find(({ path: name }) => name === switchPath)?.defaultValue;
    return defaultValue === "" || defaultValue === false || (Array.isArray(defaultValue) && defaultValue.length === 0);
  }

  /** Whether an option of a plugin is read; `unknown` where that depends on others, or on plugins from elsewhere. */
  #effectOfOption(tail: string): "known" | "none" | "unknown" {
    const [plugin = "", ...names] = tail.split(".").map(canonicalName);
    const readers = READERS_OF_LAVALINK.get(plugin);
    const reader = readers === undefined ? plugin : readers.get(names[0] ?? "");
    if (reader === undefined || [plugin, reader].some((name) => this.#isOff(`${name}.enabled`))) return "none";
    if (plugin === "lavasrc") {
      // LavaSrc's own switch of the service counts unless the plugin's options say more.
      if (!this.#isPluginWritten(reader) && this.#isOff(`lavasrc.sources.${reader}`)) return "none";
      if (!READ_STRICTLY.has(reader)) return "unknown";
    }
    return BUILT_IN_PLUGINS.has(plugin) ? "known" : "unknown";
  }

  /** Whether the option of a plugin is a flag that is false. */
  #isOff(name: string): boolean {
    const option = this.#settings.get("plugins")?.findLast(({ tail }) => canonicalName(tail ?? "") === name);
    return option !== undefined && parseFlag(option.text) === false;
  }

  #isPluginWritten(name: string): boolean {
    const options = this.#settings.get("plugins") ?? [];
    return options.some(({ tail, text }) => canonicalName(tail ?? "").startsWith(`${name}.`) && text !== "");
  }

  #addByPath(settings: readonly WrittenSetting[]): void {
    const added: SettingsByKey = new Map();
    for (const setting of settings) {
      const found = findByPath(setting.names);
      if (found === undefined) this.#unknownPath(setting);
      else add(added, found, setting);
    }
    this.#override(added);
  }

  /** Later sources replace what earlier ones said; maps are completed name by name, trees branch by branch. */
  #override(added: SettingsByKey): void {
    for (const [{ path, shape }, settings] of added) {
      const earlier = this.#settings.get(path) ?? [];
      const retained = { one: [], list: [], map: earlier, tree: notReplaced(earlier, settings) }[shape];
      this.#settings.set(path, [...retained, ...settings]);
    }
  }

  #unknownPath(setting: WrittenSetting): void {
    const path = setting.names.join(".");
    if (isGroup(setting.names)) {
      this.problems.push({
        location: setting.location,
        message: `${path}: expected further keys below it, not a value`,
      });
      return;
    }
    const plugin = misplacedPlugin(setting.names);
    const suggestion = suggestPath(setting.names);
    // `lavalink.server.youtube: true` is the switch of a source, not the options of a plugin.
    const isSwitch = plugin?.depth === setting.names.length && parseFlag(setting.text) !== undefined;
    if (plugin !== undefined && !(isSwitch && suggestion !== undefined)) {
      const place = setting.names.slice(0, plugin.depth).join(".");
      if (!this.#misplaced.has(place)) {
        const reason = `the options of a plugin belong below plugins: plugins.${plugin.name}`;
        this.warnings.push(`${setting.location}: ${place} has no effect: ${reason}`);
      }
      this.#misplaced.add(place);
      return;
    }
    const isOurs = canonicalName(setting.names[0] ?? "") === "tonearm";
    if (++this.#unknownCount > UNKNOWN_MAX && !isOurs) return;
    const hint = this.#unknownCount > UNKNOWN_MAX ? "" : hintOf(suggestion) || noSource(setting.names);
    if (isOurs) this.problems.push({ location: setting.location, message: `${path}: there is no such key${hint}` });
    else this.warnings.push(`${setting.location}: ${path} is not a known key${hint}`);
  }

  /** Other programs have variables that begin with `SERVER_` and the like: these count when they are nearly ours. */
  #unknownVariable(name: string, setting: WrittenSetting): void {
    const upper = name.toUpperCase();
    if (isServiceLink(upper)) return;
    // The node starts with a port that was meant to be its own, as it does with Kubernetes' variable of that name.
    const isOurs = upper.startsWith("TONEARM_") && !upper.endsWith("_PORT");
    const closest = this.#unknownCount < UNKNOWN_MAX ? suggestVariable(upper) : undefined;
    if (closest === undefined && !LAVALINK_OR_TONEARM.test(upper)) return;
    if (++this.#unknownCount > UNKNOWN_MAX && !isOurs) return;
    if (isOurs) this.problems.push({ location: setting.location, message: `sets no key${hintOf(closest)}` });
    else {
      const hint = hintOf(closest) || noSource(name.split("_"));
      this.warnings.push(`${setting.location} sets no key${hint}`);
    }
  }

  #reportFor({ path }: Key<unknown>): SettingReport {
    return {
      problem: (setting, message) => {
        this.problems.push({ location: setting.location, message: `${path}: ${message}` });
      },
      warning: (setting, message) => {
        this.warnings.push(`${setting.location}: ${path}: ${message}`);
      },
    };
  }

  #noteEffect({ path, docs }: Key<unknown>, withoutEffect: string[]): void {
    const { noEffect, isMissed } = docs;
    if (noEffect === undefined) return;
    if (isMissed === true) this.warnings.push(`${path} has no effect: ${noEffect}`);
    else withoutEffect.push(path);
  }
}

function add(settings: SettingsByKey, { key, tail }: FoundKey, { names: _, ...written }: WrittenSetting): void {
  const list = settings.get(key) ?? [];
  list.push({ tail, ...written });
  settings.set(key, list);
}

function isChanged(key: Key<unknown>, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value !== key.defaultValue;
  return JSON.stringify(value) !== JSON.stringify(key.defaultValue);
}

const PATHS = ALL_KEYS.map(({ path }) => path);
const PATHS_WITH_EFFECT = ALL_KEYS.filter(({ docs }) => docs.noEffect === undefined).map(({ path }) => path);

const LAVALINK_OR_TONEARM = /^(TONEARM|LAVALINK)_/;
const VARIABLE_BY_PATH = new Map(ALL_KEYS.map((key) => [key.path, variableNameOf(key)]));
const VARIABLE_NAMES = [...VARIABLE_BY_PATH.values()];

/** Below `lavalink`, `tonearm` or `server`, where Lavalink, Tonearm and the Java framework have them by turns. */
const OF_SERVER: Readonly<Record<string, string>> = {
  port: "server.port",
  host: "server.address",
  address: "server.address",
  password: "lavalink.server.password",
};

function suggestVariable(upper: string): string | undefined {
  const closest = closestName(upper.replace(/_\d{1,4}_?$/, ""), VARIABLE_NAMES);
  if (closest !== undefined || !LAVALINK_OR_TONEARM.test(upper)) return closest;
  return VARIABLE_BY_PATH.get(suggestPath(upper.toLowerCase().split("_")) ?? "");
}

function hintOf(suggestion: string | undefined): string {
  return suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
}

/** A built-in plugin's name at the top of the file, or where Lavalink's own keys are; `depth`: as the nth name. */
function misplacedPlugin(names: readonly string[]): { readonly name: string; readonly depth: number } | undefined {
  const written = names.map(canonicalName);
  const index = written.findIndex((name) => name !== "lavalink" && name !== "server");
  const name = written[index] ?? "";
  return BUILT_IN_PLUGINS.has(name) ? { name, depth: index + 1 } : undefined;
}

/** Plugins whose sources `enabled` alone does not turn on. */
const NEED_MORE: ReadonlySet<string> = new Set(["dunctebot", "jellyfin", "lavasrc", "subsonic", "tidal", "ytdlp"]);

function noSource(names: readonly string[]): string {
  const isSource = names.length === 4 && canonicalName(names.join(".")).startsWith("lavalink.server.sources.");
  if (!isSource) return "";
  const name = canonicalName(names[3] ?? "");
  if (NEED_MORE.has(name)) return "; docs/reference/sources.md says what turns its sources on";
  return BUILT_IN_PLUGINS.has(name)
    ? `; plugins.${name}.enabled turns this source on and off`
    : ": Tonearm has no such source (a plugin in tonearm.plugins may add one)";
}

/** A misspelt path, or the only one that differs by names left out or added above the last name. */
function suggestPath(names: readonly string[]): string | undefined {
  const closest = closestName(names.join("."), PATHS);
  if (closest !== undefined) return closest;
  const written = names.map(canonicalName);
  const isOfServer = written.slice(0, -1).every((name) => ["lavalink", "tonearm", "server"].includes(name));
  const ofServer = isOfServer && written.length > 1 ? OF_SERVER[written.at(-1) ?? ""] : undefined;
  if (ofServer !== undefined) return ofServer;
  const moved = PATHS_WITH_EFFECT.filter((path) => {
    const known = path.split(".").map(canonicalName);
    return known.at(-1) === written.at(-1) && (isPart(written, known) || isPart(known, written));
  });
  return moved.length === 1 ? moved[0] : undefined;
}

/** True when `all` has the names of `part` in their order. */
function isPart(part: readonly string[], all: readonly string[]): boolean {
  let index = 0;
  for (const name of all) if (name === part[index]) index++;
  return index === part.length;
}
