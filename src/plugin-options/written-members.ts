// The members of a group of options as they were written, found by names in relaxed spelling. Any thread.

import { canonicalName } from "../lib/canonical-name.ts";
import { isTreeMap, type PlainTree } from "../lib/plain-tree.ts";

/** Each member is taken once; the remaining ones are unknown. */
interface WrittenMembers {
  take(name: string): PlainTree | undefined;
  /** As they were written. */
  rest(): readonly string[];
}

/** Undefined when `tree` cannot be a group. Nothing and an empty text are a group where nothing is set. */
export function writtenMembers(tree: PlainTree | undefined): WrittenMembers | undefined {
  const isNothing = tree === undefined || tree === "";
  if (!isNothing && !isTreeMap(tree)) return undefined;
  const members = new Map(
    Object.entries(isNothing ? {} : tree).map(([written, value]) => [canonicalName(written), { written, value }]),
  );
  return {
    take(name) {
      const member = members.get(canonicalName(name));
      members.delete(canonicalName(name));
      return member?.value;
    },
    rest: () => [...members.values()].map(({ written }) => written),
  };
}
