// What of a tree is replaced when a weightier source says something about it: names below a map complete each other, a
// list is replaced whole, and a text replaces what stands below its name. Main thread, at start.

import { canonicalName } from "../../lib/canonical-name.ts";
import type { Setting } from "../keys/key.ts";

/** Those of `earlier` that still count beside `later`. A text above what is written later gives way when it is read. */
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
