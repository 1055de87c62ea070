// What an operator has written under `plugins.<name>`, checked against the options that the plugin says it has, and
// completed with their defaults. Any thread; the texts may be secrets, so that no message holds one.

import { deepFreeze } from "../lib/deep-freeze.ts";
import { isTreeList, isTreeMap, type PlainTree } from "../lib/plain-tree.ts";
import type { OptionSchema, OptionType, OptionValues } from "../plugin-api/plugin.ts";
import { type OptionPlace, OptionProblems, shownName } from "./option-problems.ts";
import { isTextual, type LeafOption, parseLeaf } from "./parse-leaf.ts";
import { writtenMembers } from "./written-members.ts";

/** A list or map of groups has at most so many. */
const GROUPS_MAX = 100;
const TEXTS_MAX = 1000;
/** Groups within groups; a schema may hold itself. */
const DEPTH_MAX = 16;
/** Of all groups together, with those that have their default. */
const VALUES_MAX = 20_000;

/** The options of a plugin, or all that is wrong with what was written: each with its path, none with its value. */
export type OptionsReading<Schema extends OptionSchema> =
  | { readonly values: OptionValues<Schema>; readonly problems?: undefined }
  | { readonly problems: readonly string[]; readonly values?: undefined };

/**
 * Reads `raw` by `schema`. Names compare in relaxed spelling (`canonicalName`). An empty text counts as not set, but
 * where it replaces a default that is a text. `path` is where `raw` stands, for messages: `plugins.youtube`. The values
 * are plain data, frozen to their leaves.
 */
export function readOptions<const Schema extends OptionSchema>(
  schema: Schema,
  raw: PlainTree | undefined,
  { path }: { readonly path: string },
): OptionsReading<Schema> {
  const walk = new OptionWalk();
  const values = walk.group(schema, raw, { path, depth: 0 });
  const problems = walk.problems.all();
  if (problems.length > 0) return { problems };
  // The walk gives each option what OptionValue says of its type; tests hold both to it.
  return { values: deepFreeze(values) as OptionValues<Schema> };
}

/** One reading. Where something is wrong it reports and goes on; the value it then gives is used by nobody. */
class OptionWalk {
  readonly problems = new OptionProblems();
  #valueCount = 0;

  group(schema: OptionSchema, raw: PlainTree | undefined, place: OptionPlace): Record<string, unknown> {
    if (place.depth > DEPTH_MAX || this.#valueCount > VALUES_MAX) {
      this.problems.tooMuch(place);
      return {};
    }
    const written = writtenMembers(raw);
    if (written === undefined) this.problems.add(place, "expected options by their names");
    const entries = Object.entries(schema).map(([name, type]): [string, unknown] => {
      this.#valueCount++;
      const member = written?.take(name);
      return [name, this.#value(type, member, { path: `${place.path}.${name}`, depth: place.depth + 1 })];
    });
    for (const name of written?.rest() ?? []) this.problems.unknown(place, name, Object.keys(schema));
    return Object.fromEntries(entries);
  }

  #value(type: OptionType, raw: PlainTree | undefined, place: OptionPlace): unknown {
    switch (type.type) {
      case "group":
        return this.group(type.members, raw, place);
      case "groups":
        return this.#groups(type.members, raw, place);
      case "named":
        return this.#named(type.members, raw, place);
      case "texts":
        return this.#texts(raw, place) ?? [...(type.default ?? [])];
      default:
        return this.#leaf(type, raw, place);
    }
  }

  #groups(members: OptionSchema, raw: PlainTree | undefined, place: OptionPlace): unknown[] {
    if (raw === undefined || raw === "") return [];
    if (!isTreeList(raw)) {
      this.problems.add(place, "expected a list of groups of options");
      return [];
    }
    if (raw.length > GROUPS_MAX) this.problems.add(place, `expected at most ${GROUPS_MAX} groups of options`);
    return raw.slice(0, GROUPS_MAX).map((item, index) => {
      return this.group(members, item, { path: `${place.path}[${index}]`, depth: place.depth });
    });
  }

  #named(members: OptionSchema, raw: PlainTree | undefined, place: OptionPlace): Record<string, unknown> {
    if (raw === undefined || raw === "") return {};
    if (!isTreeMap(raw)) {
      this.problems.add(place, "expected names, not only numbers, each with a group of options");
      return {};
    }
    const entries = Object.entries(raw);
    if (entries.length > GROUPS_MAX) this.problems.add(place, `expected at most ${GROUPS_MAX} groups of options`);
    const groups = entries.slice(0, GROUPS_MAX).map(([name, item]): [string, unknown] => {
      const path = `${place.path}.${shownName(name)}`;
      return [name, this.group(members, item, { path, depth: place.depth })];
    });
    return Object.fromEntries(groups);
  }

  /** Undefined when nothing is written. One text stands for a list with commas; an empty one for an empty list. */
  #texts(raw: PlainTree | undefined, place: OptionPlace): string[] | undefined {
    if (raw === undefined) return undefined;
    const items = typeof raw === "string" ? raw.split(",").map((text) => text.trim()) : raw;
    if (!isTreeList(items)) {
      this.problems.add(place, "expected a list of texts");
      return undefined;
    }
    if (items.length > TEXTS_MAX) this.problems.add(place, `expected at most ${TEXTS_MAX} texts`);
    return items.slice(0, TEXTS_MAX).flatMap((item, index) => {
      if (typeof item === "string") return item === "" ? [] : [item];
      this.problems.add({ ...place, path: `${place.path}[${index}]` }, "expected a text");
      return [];
    });
  }

  #leaf(type: LeafOption, raw: PlainTree | undefined, place: OptionPlace): unknown {
    const isRequired = isTextual(type) && type.isRequired === true;
    if (raw === undefined || (raw === "" && (!isTextual(type) || type.default === undefined))) {
      if (isRequired && type.default === undefined) this.problems.add(place, "must be set for the plugin to work");
      return type.default;
    }
    if (raw === "" && isRequired) this.problems.add(place, "must not be empty for the plugin to work");
    if (raw === "") return "";
    const parsed = parseLeaf(type, raw);
    if (parsed.problem !== undefined) this.problems.add(place, parsed.problem);
    return parsed.value;
  }
}
