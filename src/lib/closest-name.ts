// "Did you mean …": the known name that is least different from a misspelt one. A leaf, used at start.

import { canonicalName } from "./canonical-name.ts";

/** More changed letters than this are another name. */
const EDITS_MAX = 2;

/**
 * The closest of `names` within two changed letters, or undefined. Short words allow less: none up to two letters, one
 * up to four. Paths and variables with the same number of words are compared word by word, so that one short word is
 * not taken for another. Case, dashes and underscores do not count. Names whose length alone rules them out cost
 * nothing, because `written` may be long.
 */
export function closestName(written: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestCount = EDITS_MAX + 1;
  for (const name of names) {
    if (Math.abs(canonicalName(written).length - canonicalName(name).length) > EDITS_MAX) continue;
    const count = editCount(written, name);
    if (count < bestCount) {
      best = name;
      bestCount = count;
    }
  }
  return best;
}

/** Infinity when one of the words differs by more than a misspelling. */
function editCount(written: string, name: string): number {
  const [writtenWords, words] = [wordsOf(written), wordsOf(name)];
  if (writtenWords.length !== words.length) return wordEdits(canonicalName(written), canonicalName(name));
  return words.reduce((sum, word, index) => sum + wordEdits(writtenWords[index]!, word), 0);
}

function wordEdits(written: string, name: string): number {
  if (written === name) return 0;
  const count = editDistance(written, name);
  return count <= Math.min(EDITS_MAX, Math.floor((name.length - 1) / 2)) ? count : Number.POSITIVE_INFINITY;
}

/** `server.port` and `SERVER_PORT` as two words. */
function wordsOf(name: string): string[] {
  return name.split(/[._]/).map(canonicalName);
}

/** Insertions, deletions and replacements of single characters, and swaps of neighbours, each counted once. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = isSwap ? beforePrevious[column - 2]! + 1 : replaced;
      current.push(Math.min(replaced, swapped, previous[column]! + 1, current[column - 1]! + 1));
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length]!;
}
