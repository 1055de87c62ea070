// Gathers what file, environment and command line say about each key, decides who wins, and reads every key once.
// Mistakes, warnings and notes collect here. Main thread, at start.

import { closestName } from "../lib/closest-name.ts";
import type { ReadSection } from "./assemble-config.ts";
import { canonicalName, type Key, type Setting, type SettingReport } from "./key.ts";
import { isServiceLink } from "./read-environment.ts";
import { type FoundKey, findByPath, findByVariable, isGroup, KEY_ENTRIES, variableNameOf } from "./schema.ts";
import type { KeyEntry, Section, SectionValues } from "./section.ts";
import type { ConfigProblem, WrittenSetting } from "./written-setting.ts";

/** Whoever has written more that is not known has another problem than a misspelt name. */
const SUGGESTIONS_MAX = 20;

type SettingsByKey = Map<KeyEntry, Setting[]>;

/** Sources are added in order of growing weight: file, variables, arguments. */
export class SettingTable {
  readonly problems: ConfigProblem[] = [];
  readonly warnings: string[] = [];
  readonly notes: string[] = [];
  readonly #settings: SettingsByKey = new Map();
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
          this.warnings.push(`${setting.place} is misspelt but taken; its name is ${variableNameOf(found.entry)}`);
        }
        add(added, found, setting);
      }
    }
    this.#override(added);
  }

  /** Reads every key once, reporting mistakes, and returns the way to a section's values. */
  readAll(): ReadSection {
    const values = new Map<Key<unknown>, unknown>();
    const withoutEffect: string[] = [];
    for (const entry of KEY_ENTRIES) {
      const settings = this.#settings.get(entry);
      if (settings === undefined) continue;
      const value = entry.key.read(settings, this.#reportFor(entry));
      values.set(entry.key, value);
      if (isChanged(entry.key, value)) this.#noteEffect(entry, withoutEffect);
    }
    if (withoutEffect.length > 0) {
      this.notes.push(`no effect in Tonearm (config.example.yml says why): ${withoutEffect.join(", ")}`);
    }
    return <S extends Section>(section: S) => {
      const pairs = Object.entries(section.keys).map(([name, key]) => [
        name,
        values.has(key) ? values.get(key) : key.defaultValue,
      ]);
      // Each value was read by the key it stands under, or is that key's default: the types are the keys' own.
      return Object.fromEntries(pairs) as SectionValues<S>;
    };
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

  /** Later sources replace what earlier ones said; maps are completed name by name. */
  #override(added: SettingsByKey): void {
    for (const [entry, settings] of added) {
      const earlier = entry.key.shape === "map" ? (this.#settings.get(entry) ?? []) : [];
      this.#settings.set(entry, [...earlier, ...settings]);
    }
  }

  #unknownPath(setting: WrittenSetting): void {
    const path = setting.names.join(".");
    if (isGroup(setting.names)) {
      this.problems.push({ place: setting.place, message: `${path}: expected further keys below it, not a value` });
      return;
    }
    const suggestion = this.#isSuggesting() ? suggestPath(setting.names) : undefined;
    const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
    if (canonicalName(setting.names[0] ?? "") === "tonearm") {
      this.problems.push({ place: setting.place, message: `${path}: there is no such key${hint}` });
    } else this.warnings.push(`${setting.place}: ${path} is not a known key${hint}`);
  }

  #unknownVariable(name: string, setting: WrittenSetting): void {
    const upper = name.toUpperCase();
    if (isServiceLink(upper) || !/^(TONEARM|LAVALINK)_/.test(upper)) return;
    const suggestion = this.#isSuggesting() ? closestName(upper, KEY_ENTRIES.map(variableNameOf)) : undefined;
    const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
    if (upper.startsWith("TONEARM_")) this.problems.push({ place: setting.place, message: `sets no key${hint}` });
    else this.warnings.push(`${setting.place} sets no key${hint}`);
  }

  #isSuggesting(): boolean {
    return ++this.#suggestionCount <= SUGGESTIONS_MAX;
  }

  #reportFor({ path }: KeyEntry): SettingReport {
    return {
      problem: (setting, message) => {
        this.problems.push({ place: setting.place, message: `${path}: ${message}` });
      },
      warning: (setting, message) => {
        this.warnings.push(`${setting.place}: ${path}: ${message}`);
      },
    };
  }

  #noteEffect({ path, key }: KeyEntry, withoutEffect: string[]): void {
    const { noEffect, isMissed } = key.docs;
    if (noEffect === undefined) return;
    if (isMissed === true) this.warnings.push(`${path} has no effect: ${noEffect}`);
    else withoutEffect.push(path);
  }
}

function add(settings: SettingsByKey, { entry, tail }: FoundKey, { text, place }: WrittenSetting): void {
  const list = settings.get(entry) ?? [];
  list.push({ tail, text, place });
  settings.set(entry, list);
}

function isChanged(key: Key<unknown>, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value !== key.defaultValue;
  return JSON.stringify(value) !== JSON.stringify(key.defaultValue);
}

/** The known path that looks most like this one, or that ends in the same name somewhere else. */
function suggestPath(names: readonly string[]): string | undefined {
  const paths = KEY_ENTRIES.map(({ path }) => path);
  const lastName = canonicalName(names.at(-1) ?? "");
  const isTwin = (path: string): boolean => canonicalName(path.split(".").at(-1) ?? "") === lastName;
  return closestName(names.join("."), paths.filter(isInSameRoot(names))) ?? paths.find(isTwin);
}

function isInSameRoot(names: readonly string[]): (path: string) => boolean {
  const root = canonicalName(names[0] ?? "");
  return (path) => canonicalName(path.split(".", 1)[0] ?? "") === root;
}
