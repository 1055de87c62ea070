// Changes of options while a plugin runs: merged over the configured options, and checked for options that only the
// configuration may set. Any thread; the texts may be secrets.

import { canonicalName } from "../lib/canonical-name.ts";
import type { JsonObject, JsonValue } from "../lib/json.ts";
import { isTreeList, isTreeMap, type PlainTree, type PlainTreeMap } from "../lib/plain-tree.ts";
import type { OptionSchema, OptionType } from "../plugin-api/plugin.ts";
import { type OptionLocation, OptionProblems } from "./option-problems.ts";

/**
 * `tree` with `changes` in it. Groups are changed member by member, their names in relaxed spelling; all else is
 * replaced, lists as a whole. Null takes away what `tree` has there.
 */
export function withChanges(tree: PlainTree | undefined, changes: JsonObject): PlainTreeMap {
  const written = Object.entries(isTreeMap(tree) ? tree : {});
  const members = new Map(written.map(([name, value]) => [canonicalName(name), { name, value }]));
  for (const [name, change] of Object.entries(changes)) {
    const key = canonicalName(name);
    const known = members.get(key);
    const value = changed(known?.value, change);
    if (value === undefined) members.delete(key);
    else members.set(key, { name: known?.name ?? name, value });
  }
  // Without a prototype: `constructor` exists only when the user wrote it.
  const map: Record<string, PlainTree> = Object.create(null);
  for (const { name, value } of members.values()) map[name] = value;
  return map;
}

/** Undefined: nothing stands there any more. */
function changed(tree: PlainTree | undefined, change: JsonValue): PlainTree | undefined {
  if (change === null) return undefined;
  if (!isObject(change)) return treeOf(change);
  const group = withChanges(tree, change);
  return Object.keys(group).length === 0 ? undefined : group;
}

/** As it would stand in a file. */
function treeOf(value: JsonValue): PlainTree {
  if (Array.isArray(value)) return value.map(treeOf);
  if (isObject(value)) return withChanges(undefined, value);
  return value === null ? "" : String(value);
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The paths of the changed options: `pot.token`; a list counts as one. */
export function pathsOf(changes: PlainTreeMap): readonly string[] {
  return Object.entries(changes).flatMap(([name, tree]) => {
    return isTreeMap(tree) ? pathsOf(tree).map((path) => `${name}.${path}`) : [name];
  });
}

/** The problems with these changes: options that are `isFixed`. */
export function problemsOfChanges(
  schema: OptionSchema,
  changes: PlainTreeMap,
  { path }: { readonly path: string },
): readonly string[] {
  const problems = new OptionProblems();
  findFixed(schema, changes, { problems, location: { path, depth: 0 } });
  return problems.all();
}

interface Finding {
  readonly problems: OptionProblems;
  readonly location: OptionLocation;
}

/** Recurses as deep as the changes do. Names that are not in the schema are reported elsewhere. */
function findFixed(schema: OptionSchema, changes: PlainTree, { problems, location }: Finding): void {
  const types = new Map(Object.entries(schema).map(([name, type]) => [canonicalName(name), type]));
  for (const [name, change] of Object.entries(isTreeMap(changes) ? changes : {})) {
    const type = types.get(canonicalName(name));
    const own = { path: `${location.path}.${name}`, depth: location.depth + 1 };
    if (type?.isFixed === true) problems.add(own, "can only be set in the configuration, not while the node runs");
    else if (type !== undefined) findFixedBelow(type, change, { problems, location: own });
  }
}

function findFixedBelow(type: OptionType, change: PlainTree, finding: Finding): void {
  if (type.type === "group") findFixed(type.members, change, finding);
  if (type.type !== "named" && type.type !== "groups") return;
  const groups = isTreeList(change) ? change : Object.values(isTreeMap(change) ? change : {});
  for (const group of groups) findFixed(type.members, group, finding);
}
