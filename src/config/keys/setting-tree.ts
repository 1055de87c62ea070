// Turns the settings below one key into a tree of texts, lists and maps. Names compare in Spring's relaxed spelling, so
// that settings of one name from a file and a variable are merged. Main thread, at start.

import { canonicalName } from "../../lib/canonical-name.ts";
import { deepFreeze } from "../../lib/deep-freeze.ts";
import { parseFlag } from "../../lib/flag-words.ts";
import type { PlainTree, PlainTreeMap } from "../../lib/plain-tree.ts";
import type { Setting, SettingReport } from "./key.ts";

/** No configuration needs deeper nesting; the names of variables may be very long. */
const DEPTH_MAX = 32;

interface Branch {
  /** As it was written first. */
  readonly name: string;
  text: string | undefined;
  /** By their names in relaxed spelling. */
  readonly branches: Map<string, Branch>;
}

/**
 * The tree below each name of the first level, by its relaxed spelling; frozen. A text on that level is left out, with
 * a warning that names what was `expected`. Names that are all numbers of at most four digits make a list.
 */
export function treesOf(settings: readonly Setting[], report: SettingReport, expected: string): PlainTreeMap {
  const root: Branch = { name: "", text: undefined, branches: new Map() };
  for (const setting of settings) {
    const names = setting.tail?.split(".").filter((name) => name !== "") ?? [];
    if (names.length > DEPTH_MAX) report.problem(setting, `more than ${DEPTH_MAX} names below each other`);
    else if (names.length > 1) plant(root, names, setting.text);
    else if (setting.text !== "") report.warning(setting, `expected ${expected}${switchOf(setting)}; leaving it out`);
  }
  return deepFreeze(plainMap([...root.branches].map(([name, branch]) => [name, treeAt(branch)])));
}

/** Of a flag instead of options, how it is written. */
function switchOf({ tail, text }: Setting): string {
  const flag = parseFlag(text);
  return tail === undefined || flag === undefined ? "" : `, such as plugins.${tail}.enabled: ${flag}`;
}

/** When a text and settings below it have the same name, the last one counts. */
function plant(root: Branch, names: readonly string[], text: string): void {
  let branch = root;
  for (const name of names) {
    const canonical = canonicalName(name);
    const next: Branch = branch.branches.get(canonical) ?? { name, text: undefined, branches: new Map() };
    branch.branches.set(canonical, next);
    branch.text = undefined;
    branch = next;
  }
  branch.branches.clear();
  branch.text = text;
}

function treeAt({ text, branches }: Branch): PlainTree {
  if (text !== undefined) return text;
  const children = [...branches.values()];
  if (children.every(({ name }) => /^\d{1,4}$/.test(name))) {
    return children.toSorted((a, b) => Number(a.name) - Number(b.name)).map(treeAt);
  }
  return plainMap(children.map((child) => [child.name, treeAt(child)]));
}

/** A map without a prototype: `constructor` exists only when the user wrote it. */
function plainMap(entries: readonly (readonly [string, PlainTree])[]): PlainTreeMap {
  const map: Record<string, PlainTree> = Object.create(null);
  for (const [name, tree] of entries) map[name] = tree;
  return map;
}
