// Checks the settings below `plugins.<name>` against the options that the plugin declares, and fills in the defaults.
// Any thread; the texts may be secrets, so that no message holds one.

import { deepFreeze } from "../lib/deep-freeze.ts";
import { isTreeList, isTreeMap, type PlainTree } from "../lib/plain-tree.ts";
import type { OptionSchema, OptionType, OptionValues } from "../plugin-api/plugin.ts";
import { type OptionLocation, OptionProblems, shownName } from "./option-problems.ts";
import { isTextual, type LeafOption, nameIn, parseLeaf } from "./parse-leaf.ts";
import { writtenMembers } from "./written-members.ts";

/** Limit of groups in a list or map. */
const GROUPS_MAX = 100;
const TEXTS_MAX = 1000;
/** Limit of nested groups; a schema may contain itself. */
const DEPTH_MAX = 16;
/** Limit for all groups together, including options with their default. */
const VALUES_MAX = 20_000;

/** The options of a plugin, or all problems with the settings: each with its path, none with its value. */
type OptionsReading<Schema extends OptionSchema> =
  | { readonly values: OptionValues<Schema>; readonly problems?: undefined }
  | { readonly problems: readonly string[]; readonly values?: undefined };

/**
 * Reads `raw` by `schema`. Names compare in relaxed spelling (`canonicalName`). An empty text counts as not set, except
 * where it replaces a default that is a text. `path` is the path of `raw`, for messages: `plugins.youtube`.
 * `isUnknownIgnored`: names that are not in `schema` are no problem. The values are plain data, frozen to their leaves.
 */
export function readOptions<const Schema extends OptionSchema>(
  schema: Schema,
  raw: PlainTree | undefined,
  { path, isUnknownIgnored = false }: { readonly path: string; readonly isUnknownIgnored?: boolean },
): OptionsReading<Schema> {
  const walk = new OptionWalk({ isUnknownIgnored });
  const values = walk.group(schema, raw, { path, depth: 0 });
  const problems = walk.problems.all();
  if (problems.length > 0) return { problems };
  // The walk returns for each option the type that OptionValue derives; tests check both.
  return { values: deepFreeze(values) as OptionValues<Schema> };
}

/** One reading. After a problem it reports and continues; the value it then returns is not used. */
class OptionWalk {
  readonly problems = new OptionProblems();
  readonly #isUnknownIgnored: boolean;
  #valueCount = 0;

  constructor({ isUnknownIgnored }: { readonly isUnknownIgnored: boolean }) {
    this.#isUnknownIgnored = isUnknownIgnored;
  }

  group(schema: OptionSchema, raw: PlainTree | undefined, location: OptionLocation): Record<string, unknown> {
    if (location.depth > DEPTH_MAX || this.#valueCount > VALUES_MAX) {
      this.problems.tooMuch(location);
      return {};
    }
    const written = writtenMembers(raw);
    if (written === undefined) this.problems.add(location, "expected options by their names");
    const entries = Object.entries(schema).map(([name, type]): [string, unknown] => {
      this.#valueCount++;
      const member = written?.take(name);
      return [name, this.#value(type, member, { path: `${location.path}.${name}`, depth: location.depth + 1 })];
    });
    const unknown = this.#isUnknownIgnored ? [] : (written?.rest() ?? []);
    for (const name of unknown) this.problems.unknown(location, name, Object.keys(schema));
    return Object.fromEntries(entries);
  }

  #value(type: OptionType, raw: PlainTree | undefined, location: OptionLocation): unknown {
    switch (type.type) {
      case "group":
        return this.group(type.members, raw, location);
      case "groups":
        return this.#groups(type.members, raw, location);
      case "named":
        return this.#named(type.members, raw, location);
      case "texts":
        return this.#texts(raw, location, type.names) ?? [...(type.default ?? [])];
      default:
        return this.#leaf(type, raw, location);
    }
  }

  #groups(members: OptionSchema, raw: PlainTree | undefined, location: OptionLocation): unknown[] {
    if (raw === undefined || raw === "") return [];
    if (!isTreeList(raw)) {
      this.problems.add(location, "expected a list of groups of options");
      return [];
    }
    if (raw.length > GROUPS_MAX) this.problems.add(location, `expected at most ${GROUPS_MAX} groups of options`);
    return raw.slice(0, GROUPS_MAX).map((item, index) => {
      return this.group(members, item, { path: `${location.path}[${index}]`, depth: location.depth });
    });
  }

  #named(members: OptionSchema, raw: PlainTree | undefined, location: OptionLocation): Record<string, unknown> {
    if (raw === undefined || raw === "") return {};
    if (!isTreeMap(raw)) {
      this.problems.add(location, "expected names, not only numbers, each with a group of options");
      return {};
    }
    const entries = Object.entries(raw);
    if (entries.length > GROUPS_MAX) this.problems.add(location, `expected at most ${GROUPS_MAX} groups of options`);
    const groups = entries.slice(0, GROUPS_MAX).map(([name, item]): [string, unknown] => {
      const path = `${location.path}.${shownName(name)}`;
      return [name, this.group(members, item, { path, depth: location.depth })];
    });
    return Object.fromEntries(groups);
  }

  /** Undefined when nothing is written. One text stands for a list with commas; an empty one for an empty list. */
  #texts(
    raw: PlainTree | undefined,
    location: OptionLocation,
    names: readonly string[] | undefined,
  ): string[] | undefined {
    if (raw === undefined) return undefined;
    const items = typeof raw === "string" ? raw.split(",").map((text) => text.trim()) : raw;
    if (!isTreeList(items)) {
      this.problems.add(location, "expected a list of texts");
      return undefined;
    }
    if (items.length > TEXTS_MAX) this.problems.add(location, `expected at most ${TEXTS_MAX} texts`);
    return items.slice(0, TEXTS_MAX).flatMap((item, index) => {
      const text = typeof item === "string" && names !== undefined && item !== "" ? nameIn(names, item) : item;
      if (typeof text === "string") return text === "" ? [] : [text];
      const expected = names === undefined ? "expected a text" : `expected one of ${names.join(", ")}`;
      this.problems.add({ ...location, path: `${location.path}[${index}]` }, expected);
      return [];
    });
  }

  #leaf(type: LeafOption, raw: PlainTree | undefined, location: OptionLocation): unknown {
    const isRequired = isTextual(type) && type.isRequired === true;
    if (raw === undefined || (raw === "" && (!isTextual(type) || type.default === undefined))) {
      if (isRequired && type.default === undefined) this.problems.add(location, "must be set for the plugin to work");
      return type.default;
    }
    if (raw === "" && isRequired) this.problems.add(location, "must not be empty for the plugin to work");
    if (raw === "") return "";
    const parsed = parseLeaf(type, raw);
    if (parsed.problem !== undefined) this.problems.add(location, parsed.problem);
    return parsed.value;
  }
}
