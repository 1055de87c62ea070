// The definition of a configuration key: its name, meaning, default, and how the settings given for it become its
// value. The other files in this folder define the keys with the functions below; everything else (types, reading,
// environment names, the example file, the reference) is derived from them. Main thread, at start.

import { canonicalName } from "../../lib/canonical-name.ts";
import { closestName } from "../../lib/closest-name.ts";
import { redactText } from "../../lib/redact-text.ts";
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
  /** The variable of a placeholder in `text` that has no value; `text` is then as it was written. */
  readonly missingVariable?: string | undefined;
  /** Where it was given: `application.yml:3:9`, `environment variable SERVER_PORT`, `--server.port`. */
  readonly location: string;
}

/** Receives the problems that a key finds in its settings. Neither call may be given the text of a secret. */
export interface SettingReport {
  problem(setting: Setting, message: string): void;
  warning(setting: Setting, message: string): void;
}

/**
 * Reads a key's value. The list of all keys is collected through the same callback, so a function that takes a
 * `ReadKey` must read all of its keys on every call.
 */
export type ReadKey = <T>(key: Key<T>) => T;

/**
 * One key of the configuration: reading, messages, `config.example.yml` and the names of environment variables are
 * derived from it.
 */
export interface Key<T> {
  /** Path in the file, in its proper spelling: `lavalink.server.playerUpdateInterval`. */
  readonly path: string;
  /** `one` value, a `list`, a `map` from free names to values, or a `tree` that is not checked further. */
  readonly shape: "one" | "list" | "map" | "tree";
  readonly defaultValue: T;
  readonly docs: KeyDocs;
  /** The default as it would be written in the file; undefined when it cannot be (secret, empty, computed). */
  readonly defaultText: string | undefined;
  readonly expected: string;
  /** For maps: the known names, in their proper spelling. */
  readonly memberNames: readonly string[];
  /** Whether a support bundle may show this setting's text. */
  shows(setting: Setting): boolean;
  /** Makes the value from at least one setting. */
  read(settings: readonly Setting[], report: SettingReport): T;
}

/** The documentation of a key. */
interface KeyDocs {
  readonly meaning: string;
  readonly unit?: string;
  /** In words, when the default is not a plain value. */
  readonly defaultNote?: string;
  /** An example value for the file, when the default cannot be written there. */
  readonly example?: string;
  /** Why the key, known from Lavalink, changes nothing here. It is still checked. */
  readonly noEffect?: string;
  /** True when users who set it rely on it: a warning then says that it has no effect. */
  readonly isMissed?: boolean;
  /** True when the value is private although it is not a secret: an account, a host. */
  readonly isPrivate?: boolean;
  /** Further environment variables that set it: misspelt names that documentation spread. */
  readonly misspeltVariables?: readonly string[];
}

type KeyOptions<T, More = unknown> = KeyDocs & { readonly defaultValue: T } & More;

export function integerKey(path: string, options: KeyOptions<number, IntegerOptions>): Key<number> {
  return oneKey(path, integerType(options), options);
}

export function flagKey(path: string, options: KeyOptions<boolean>): Key<boolean> {
  return oneKey(path, flagType, options);
}

/** A flag that may be left out: undefined then. */
export function optionalFlagKey(path: string, options: KeyDocs & { readonly defaultNote: string }): Key<Flag> {
  const type: ValueType<Flag> = { ...flagType, format: () => undefined };
  return oneKey(path, type, { ...options, defaultValue: undefined });
}

type Flag = boolean | undefined;

export function textKey(path: string, options: KeyOptions<string>): Key<string> {
  return oneKey(path, textType, options);
}

export function freePathKey(path: string, options: KeyOptions<string>): Key<string> {
  return oneKey(path, freePathType, options);
}

export function secretKey(path: string, options: KeyDocs): Key<Secret | undefined> {
  return oneKey(path, secretType, { ...options, defaultValue: undefined, isPrivate: true });
}

export function choiceKey<const T extends string>(
  path: string,
  options: KeyOptions<NoInfer<T>, { readonly names: readonly T[] }>,
): Key<T> {
  return oneKey(path, choiceType(options.names), options);
}

/** A list, given item by item, or in one text with `separator` between the items. */
export function listKey<T>(
  path: string,
  options: KeyOptions<readonly T[], { readonly type: ValueType<T>; readonly separator?: string }>,
): Key<readonly T[]> {
  const { type, separator = ",", defaultValue } = options;
  return {
    ...describe(path, options),
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

interface MapOptions<T> {
  readonly type: ValueType<T>;
  readonly memberNames: readonly string[];
  /** Default: any text is a name, and stays as it was written. */
  readonly nameType?: ValueType<string>;
}

/** A map from names to values; names that are not in `memberNames` are what `nameType` makes of them. */
export function mapKey<T>(
  path: string,
  options: KeyOptions<Readonly<Record<string, T>>, MapOptions<T>>,
): Key<Readonly<Record<string, T>>> {
  const { type, memberNames, nameType = textType, defaultValue } = options;
  return {
    ...describe(path, options),
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
        // Two filters differ in spelling only: lowPass and low-pass.
        const known =
          memberNames.find((name) => name === setting.tail) ??
          memberNames.find((name) => canonicalName(name) === written);
        const closest = known === undefined ? closestName(setting.tail, memberNames) : undefined;
        if (closest !== undefined) report.warning(setting, `did you mean ${closest} by ${shorten(setting.tail)}?`);
        const names = known === undefined ? parseText(nameType, setting.tail, { setting, report }) : [known];
        for (const name of names) for (const member of parseSetting(type, setting, report)) value[name] = member;
      }
      return value;
    },
  };
}

interface StructureOptions<T> {
  readonly expected: string;
  readonly read: Key<T>["read"];
  /** The last names of the members that may be shown; other members may be shown if they are true or false. */
  readonly shownMembers?: readonly string[];
}

/** A part of the file that `read` interprets itself: trees of names, whose tails join the names with dots. */
export function structureKey<T>(path: string, options: KeyOptions<T, StructureOptions<T>>): Key<T> {
  const { expected, read, shownMembers = [] } = options;
  return {
    ...describe(path, options),
    shape: "tree",
    expected,
    defaultText: undefined,
    shows: ({ tail, text }) => isFlag(text) || shownMembers.includes(canonicalName(tail?.split(".").at(-1) ?? "")),
    read,
  };
}

/** A part of the file that is known but not interpreted. Its value is true when anything is set there. */
export function treeKey(path: string, options: KeyDocs): Key<boolean> {
  return {
    ...describe(path, { ...options, defaultValue: false }),
    shape: "tree",
    expected: "anything",
    defaultText: undefined,
    shows: ({ text }) => isFlag(text),
    read: (settings) => settings.length > 0,
  };
}

function oneKey<T>(path: string, type: ValueType<T>, options: KeyOptions<T>): Key<T> {
  const { defaultValue } = options;
  return {
    ...describe(path, options),
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

function describe<T>(
  path: string,
  options: KeyOptions<T>,
): Pick<Key<T>, "path" | "defaultValue" | "docs" | "memberNames" | "shows"> {
  const { defaultValue, isPrivate = false } = options;
  return { path, defaultValue, docs: options, memberNames: [], shows: () => !isPrivate };
}

function isFlag(text: string): boolean {
  return /^(?:true|false)$/i.test(text.trim());
}

function splitList(setting: Setting, separator: string): Setting[] {
  if (setting.tail !== undefined) return [setting];
  const texts = setting.text.split(separator).map((text) => text.trim());
  return texts.filter((text) => text !== "").map((text, index) => ({ ...setting, text, tail: String(index) }));
}

/** The value as a list of one; empty after a problem was reported. */
function parseSetting<T>(type: ValueType<T>, setting: Setting, report: SettingReport): readonly T[] {
  return parseText(type, setting.text, { setting, report });
}

function parseText<T>(
  type: ValueType<T>,
  text: string,
  { setting, report }: { readonly setting: Setting; readonly report: SettingReport },
): readonly T[] {
  const parsed = type.parse(text);
  if (parsed === undefined) {
    report.problem(setting, `expected ${type.expected}, found ${shorten(text)}`);
    return [];
  }
  if (parsed.warning !== undefined) report.warning(setting, `${shorten(text)} ${parsed.warning}`);
  return [parsed.value];
}

/** Redacts, because an address may contain a password where none is expected. */
function shorten(text: string): string {
  const shown = redactText(text);
  return JSON.stringify(shown.length > 60 ? `${shown.slice(0, 60)}…` : shown);
}
