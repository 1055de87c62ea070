// "Did you mean …": the known name that is least different from a misspelt one. A leaf, used at start.

/**
 * The closest of `names` by edits, or undefined when none is close (a third of its length, at least two edits). Names
 * whose length alone rules them out cost nothing, because `written` may be long.
 */
export function closestName(written: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const name of names) {
    if (Math.abs(written.length - name.length) > editsMax(name)) continue;
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best !== undefined && bestDistance <= editsMax(best) ? best : undefined;
}

function editsMax(name: string): number {
  return Math.max(2, name.length / 3);
}

/** Levenshtein's distance: insertions, deletions and replacements of single characters. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
