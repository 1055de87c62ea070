// What a configuration key is: its meaning, default, and how the settings given for it become its value. The files in
// sections/ list the keys with the functions below; everything else (reading, environment names, the example file) is
// derived from them. Main thread, at start.

import type { Secret } from "./secret.ts";
import {
  choiceType,
  flagType,
  freePathType,
  type IntegerOptions,
  integerType,
  secretType,
  textType,
  type ValueType,
} from "./value-type.ts";

/** One text given for a key. */
export interface Setting {
  /** Index in a list, name in a map, path in a tree; undefined when the text stands for the whole value. */
  readonly tail: string | undefined;
  readonly text: string;
  /** Where it was given: `application.yml:3:9`, `environment variable SERVER_PORT`, `--server.port`. */
  readonly place: string;
}

/** Where a key tells what is wrong with a setting. Neither call may be given the text of a secret. */
export interface SettingReport {
  problem(setting: Setting, message: string): void;
  warning(setting: Setting, message: string): void;
}

export interface Key<T> {
  /** `one` value, a `list`, a `map` from free names to values, or a `tree` that is looked at no further. */
  readonly shape: "one" | "list" | "map" | "tree";
  readonly defaultValue: T;
  readonly docs: KeyDocs;
  /** The default as it would be written in the file; undefined when it cannot be (secret, nothing, worked out). */
  readonly defaultText: string | undefined;
  readonly expected: string;
  /** For maps: the names that are known, in their proper spelling. */
  readonly memberNames: readonly string[];
  /** Makes the value from at least one setting. */
  read(settings: readonly Setting[], report: SettingReport): T;
}

/** What people are told about a key. */
export interface KeyDocs {
  readonly meaning: string;
  readonly unit?: string;
  /** In words, when the default is not a plain value. */
  readonly defaultNote?: string;
  /** What a value looks like in the file, when the default cannot be written there. */
  readonly example?: string;
  /** Why the key, known from Lavalink, changes nothing here. It is still checked. */
  readonly noEffect?: string;
  /** True when a user who set it counts on it: then a warning says that it has no effect. */
  readonly isMissed?: boolean;
  /** Further environment variables that set it: misspelt names that documentation spread. */
  readonly misspeltVariables?: readonly string[];
}

type KeyOptions<T, More = unknown> = KeyDocs & { readonly defaultValue: T } & More;

export function integerKey(options: KeyOptions<number, IntegerOptions>): Key<number> {
  return oneKey(integerType(options), options);
}

export function flagKey(options: KeyOptions<boolean>): Key<boolean> {
  return oneKey(flagType, options);
}

export function textKey(options: KeyOptions<string>): Key<string> {
  return oneKey(textType, options);
}

export function freePathKey(options: KeyOptions<string>): Key<string> {
  return oneKey(freePathType, options);
}

export function secretKey(options: KeyDocs): Key<Secret | undefined> {
  return oneKey(secretType, { ...options, defaultValue: undefined });
}

export function choiceKey<const T extends string>(
  options: KeyOptions<NoInfer<T>, { readonly names: readonly T[] }>,
): Key<T> {
  return oneKey(choiceType(options.names), options);
}

/** A list, given item by item, or in one text with `separator` between the items. */
export function listKey<T>(
  options: KeyOptions<readonly T[], { readonly type: ValueType<T>; readonly separator?: string }>,
): Key<readonly T[]> {
  const { type, separator = ",", defaultValue } = options;
  return {
    ...describe(options),
    shape: "list",
    expected: `a list of: ${type.expected}`,
    defaultText: `[${defaultValue.map(type.format).join(", ")}]`,
    read(settings, report) {
      const items = settings.flatMap((setting) => splitList(setting, separator));
      items.sort((a, b) => Number(a.tail ?? 0) - Number(b.tail ?? 0));
      return items.flatMap((item) => parseSetting(type, item, report));
    },
  };
}

/** A map from names to values; names that are not in `memberNames` are kept as they were written. */
export function mapKey<T>(
  options: KeyOptions<
    Readonly<Record<string, T>>,
    { readonly type: ValueType<T>; readonly memberNames: readonly string[] }
  >,
): Key<Readonly<Record<string, T>>> {
  const { type, memberNames, defaultValue } = options;
  return {
    ...describe(options),
    shape: "map",
    memberNames,
    expected: `names, each with ${type.expected}`,
    defaultText: undefined,
    read(settings, report) {
      const value: Record<string, T> = { ...defaultValue };
      for (const setting of settings) {
        if (setting.tail === undefined) {
          report.problem(setting, `expected ${this.expected}`);
          continue;
        }
        const written = canonicalName(setting.tail);
        const name = memberNames.find((known) => canonicalName(known) === written) ?? setting.tail;
        for (const member of parseSetting(type, setting, report)) value[name] = member;
      }
      return value;
    },
  };
}

/** A part of the file that is known but not looked into. Its value tells whether anything stands there. */
export function treeKey(options: KeyDocs): Key<boolean> {
  return {
    ...describe({ ...options, defaultValue: false }),
    shape: "tree",
    expected: "anything",
    defaultText: undefined,
    read: (settings) => settings.length > 0,
  };
}

/** Spring's relaxed spelling: case, dashes and underscores do not count. */
export function canonicalName(name: string): string {
  return name.replaceAll(/[-_]/g, "").toLowerCase();
}

function oneKey<T>(type: ValueType<T>, options: KeyOptions<T>): Key<T> {
  const { defaultValue } = options;
  return {
    ...describe(options),
    shape: "one",
    expected: type.expected,
    defaultText: type.format(defaultValue),
    read(settings, report) {
      const setting = settings.at(-1);
      if (setting === undefined) return defaultValue;
      return parseSetting(type, setting, report)[0] ?? defaultValue;
    },
  };
}

function describe<T>(options: KeyOptions<T>): Pick<Key<T>, "defaultValue" | "docs" | "memberNames"> {
  return { defaultValue: options.defaultValue, docs: options, memberNames: [] };
}

function splitList(setting: Setting, separator: string): Setting[] {
  if (setting.tail !== undefined) return [setting];
  const texts = setting.text.split(separator).map((text) => text.trim());
  return texts.filter((text) => text !== "").map((text, index) => ({ ...setting, text, tail: String(index) }));
}

/** The value as a list of one; empty after a problem was reported. */
function parseSetting<T>(type: ValueType<T>, setting: Setting, report: SettingReport): readonly T[] {
  const parsed = type.parse(setting.text);
  if (parsed === undefined) {
    report.problem(setting, `expected ${type.expected}, found ${shorten(setting.text)}`);
    return [];
  }
  if (parsed.warning !== undefined) report.warning(setting, `${shorten(setting.text)} ${parsed.warning}`);
  return [parsed.value];
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
