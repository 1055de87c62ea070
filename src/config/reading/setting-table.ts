// Collects the settings of file, environment and command line for each key, decides which wins, and reads every key
// once. Collects mistakes, warnings and notes. Main thread, at start.

import { canonicalName } from "../../lib/canonical-name.ts";
import { closestName } from "../../lib/closest-name.ts";
import { ALL_KEYS, type KeyValues, readAllKeys } from "../keys/all-keys.ts";
import type { Key, Setting, SettingReport } from "../keys/key.ts";
import { type FoundKey, findByPath, findByVariable, isGroup, variableNameOf } from "./key-names.ts";
import { isServiceLink } from "./read-environment.ts";
import { notReplaced } from "./replaced-branches.ts";
import type { ConfigProblem, WrittenSetting } from "./written-setting.ts";

/** Beyond this many unknown keys the problem is not a misspelt name. */
const SUGGESTIONS_MAX = 20;

/** A value as it was written, before any check. */
export interface WrittenValue {
  readonly name: string;
  readonly text: string;
  readonly location: string;
  readonly isShown: boolean;
}

type SettingsByKey = Map<Key<unknown>, Setting[]>;

/** Sources are added in order of growing weight: file, variables, arguments. */
export class SettingTable {
  readonly problems: ConfigProblem[] = [];
  readonly warnings: string[] = [];
  readonly notes: string[] = [];
  /** By the path of the key, in its proper spelling. */
  readonly #settings = new Map<string, Setting[]>();
  #suggestionCount = 0;

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
          this.warnings.push(`${setting.location} is misspelt but taken; its name is ${variableNameOf(found.key)}`);
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
      this.notes.push(`no effect in Tonearm (docs/reference/configuration.md says why): ${withoutEffect.join(", ")}`);
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
    const settings = this.#settings.get(key.path);
    if (settings === undefined) return key.defaultValue;
    const value = key.read(settings, this.#reportFor(key));
    if (isChanged(key, value)) this.#noteEffect(key, withoutEffect);
    return value;
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
    const suggestion = this.#isSuggesting() ? suggestPath(setting.names) : undefined;
    const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
    if (canonicalName(setting.names[0] ?? "") === "tonearm") {
      this.problems.push({ location: setting.location, message: `${path}: there is no such key${hint}` });
    } else this.warnings.push(`${setting.location}: ${path} is not a known key${hint}`);
  }

  #unknownVariable(name: string, setting: WrittenSetting): void {
    const upper = name.toUpperCase();
    if (isServiceLink(upper) || !/^(TONEARM|LAVALINK)_/.test(upper)) return;
    const suggestion = this.#isSuggesting() ? closestName(upper, ALL_KEYS.map(variableNameOf)) : undefined;
    const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
    if (upper.startsWith("TONEARM_")) this.problems.push({ location: setting.location, message: `sets no key${hint}` });
    else this.warnings.push(`${setting.location} sets no key${hint}`);
  }

  #isSuggesting(): boolean {
    return ++this.#suggestionCount <= SUGGESTIONS_MAX;
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

function add(settings: SettingsByKey, { key, tail }: FoundKey, { text, location }: WrittenSetting): void {
  const list = settings.get(key) ?? [];
  list.push({ tail, text, location });
  settings.set(key, list);
}

function isChanged(key: Key<unknown>, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value !== key.defaultValue;
  return JSON.stringify(value) !== JSON.stringify(key.defaultValue);
}

/** The known path that looks most like this one, or that ends in the same name somewhere else. */
function suggestPath(names: readonly string[]): string | undefined {
  const paths = ALL_KEYS.map(({ path }) => path);
  const lastName = canonicalName(names.at(-1) ?? "");
  const isTwin = (path: string): boolean => canonicalName(path.split(".").at(-1) ?? "") === lastName;
  const written = names.join(".");
  const twins = paths.filter(isTwin);
  return closestName(written, paths.filter(isInSameRoot(names))) ?? closestName(written, twins) ?? twins[0];
}

function isInSameRoot(names: readonly string[]): (path: string) => boolean {
  const root = canonicalName(names[0] ?? "");
  return (path) => canonicalName(path.split(".", 1)[0] ?? "") === root;
}
