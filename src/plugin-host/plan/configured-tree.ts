// Reads the written options of plugins, whose names may be spelled in Spring's relaxed way. Main thread.

import { canonicalName } from "../../lib/canonical-name.ts";
import { isTreeMap, type PlainTree, type PlainTreeMap } from "../../lib/plain-tree.ts";

/** By names in relaxed spelling. */
export function treeAt(tree: PlainTree | undefined, path: readonly string[]): PlainTree | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return tree;
  const canonical = canonicalName(name);
  const found = Object.entries(mapOf(tree)).find(([written]) => canonicalName(written) === canonical);
  return found === undefined ? undefined : treeAt(found[1], rest);
}

/** The tree if it is a map, else an empty one. */
export function mapOf(tree: PlainTree | undefined): PlainTreeMap {
  return isTreeMap(tree) ? tree : {};
}
