// The settings that an operator wrote below a name, before they are interpreted: texts, lists and maps. Has no domain
// knowledge; any thread.

/** Every leaf is a text, as it was written: `5` and `true` too. Maps have no prototype; all of it is frozen. */
export type PlainTree = string | readonly PlainTree[] | PlainTreeMap;

/** A map of it, by the names as they were written. */
export interface PlainTreeMap {
  /** The setting below the name. */
  readonly [name: string]: PlainTree;
}

/** True for a map of names. */
export function isTreeMap(tree: PlainTree | undefined): tree is PlainTreeMap {
  return typeof tree === "object" && !Array.isArray(tree);
}

/** Whether any text in it is not empty. */
export function hasText(tree: PlainTree | undefined): boolean {
  if (tree === undefined) return false;
  if (typeof tree === "string") return tree !== "";
  return Object.values(tree).some(hasText);
}

/** True for a list. */
export function isTreeList(tree: PlainTree | undefined): tree is readonly PlainTree[] {
  return Array.isArray(tree);
}
