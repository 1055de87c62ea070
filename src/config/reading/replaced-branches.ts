// Which parts of a tree a source with higher priority replaces: names below a map are merged, a list is replaced whole,
// and a text replaces everything below its name. Main thread, at start.

import { canonicalName } from "../../lib/canonical-name.ts";
import type { Setting } from "../keys/key.ts";

/**
 * The settings of `earlier` that still count beside `later`. A text above a later setting is overridden when it is
 * read.
 */
export function notReplaced(earlier: readonly Setting[], later: readonly Setting[]): Setting[] {
  const replaced = new Set<string>();
  for (const setting of later) {
    const names = namesOf(setting);
    const index = names.findIndex((name) => /^\d{1,4}$/.test(name));
    replaced.add(names.slice(0, index < 0 ? names.length : index).join("."));
  }
  return earlier.filter((setting) => {
    const names = namesOf(setting);
    for (let length = 0; length <= names.length; length++) {
      if (replaced.has(names.slice(0, length).join("."))) return false;
    }
    return true;
  });
}

function namesOf({ tail }: Setting): string[] {
  return tail === undefined ? [] : tail.split(".").map(canonicalName);
}
