// What of a tree is replaced when a weightier source says something about it: names below a map complete each other, a
// list is replaced whole, and a text and what stands below the same name exclude each other. Main thread, at start.

import { canonicalName } from "../../lib/canonical-name.ts";
import type { Setting } from "../keys/key.ts";

/** Those of `earlier` that still count beside `later`. */
export function notReplaced(earlier: readonly Setting[], later: readonly Setting[]): Setting[] {
  const replaced = new Set<string>();
  const above = new Set<string>();
  for (const setting of later) {
    const names = namesOf(setting);
    const index = names.findIndex((name) => /^\d{1,4}$/.test(name));
    const branch = index < 0 ? names : names.slice(0, index);
    replaced.add(branch.join("."));
    for (let length = 0; length < branch.length; length++) above.add(branch.slice(0, length).join("."));
  }
  return earlier.filter((setting) => {
    const names = namesOf(setting);
    if (above.has(names.join("."))) return false;
    for (let length = 0; length <= names.length; length++) {
      if (replaced.has(names.slice(0, length).join("."))) return false;
    }
    return true;
  });
}

function namesOf({ tail }: Setting): string[] {
  return tail === undefined ? [] : tail.split(".").map(canonicalName);
}
