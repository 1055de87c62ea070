// What an operator has written under a name, before anybody knows what it means: texts, lists and maps. A leaf, any
// thread.

/** Every leaf is a text, as it was written: `5` and `true` too. Maps have no prototype; all of it is frozen. */
export type PlainTree = string | readonly PlainTree[] | PlainTreeMap;

/** A map of it, by the names as they were written. */
export interface PlainTreeMap {
  /** What stands under the name. */
  readonly [name: string]: PlainTree;
}

/** True for a map of names. */
export function isTreeMap(tree: PlainTree | undefined): tree is PlainTreeMap {
  return typeof tree === "object" && !Array.isArray(tree);
}

/** True for a list. */
export function isTreeList(tree: PlainTree | undefined): tree is readonly PlainTree[] {
  return Array.isArray(tree);
}
