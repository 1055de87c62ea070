// Reads what YouTube answers without believing in its shape: members that may be missing, texts in their several forms,
// and walks for known members, bounded in depth and count. Plugin thread.

/** Real pages are some thirty deep. */
const DEPTH_MAX = 64;
/** Real pages have some tens of thousands. */
const NODES_MAX = 400_000;
const TEXT_LENGTH_MAX = 10_000;

/** The member at the end of a path of names and indices. */
export function member(tree: unknown, ...path: readonly (string | number)[]): unknown {
  let current = tree;
  for (const name of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, name)) return undefined;
    current = (current as Readonly<Record<string | number, unknown>>)[name]; // it has it
  }
  return current;
}

export function list(tree: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = member(tree, ...path);
  return Array.isArray(found) ? found : [];
}

/** A text that is not empty. */
export function string(tree: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = member(tree, ...path);
  return typeof found === "string" && found !== "" && found.length <= TEXT_LENGTH_MAX ? found : undefined;
}

/** A number, or a text of digits: YouTube writes many numbers so. */
export function number(tree: unknown, ...path: readonly (string | number)[]): number | undefined {
  const found = member(tree, ...path);
  if (typeof found === "number") return Number.isFinite(found) ? found : undefined;
  return typeof found === "string" && /^-?\d{1,15}$/.test(found) ? Number(found) : undefined;
}

/** A text as YouTube writes those for people: `simpleText`, `content`, or the first of its runs. */
export function label(tree: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = member(tree, ...path);
  return string(found) ?? string(found, "simpleText") ?? string(found, "content") ?? string(found, "runs", 0, "text");
}

/** All runs of a label, joined. */
export function wholeLabel(
  separator: string,
  tree: unknown,
  ...path: readonly (string | number)[]
): string | undefined {
  const found = member(tree, ...path);
  const runs = list(found, "runs")
    .slice(0, 50)
    .flatMap((run) => string(run, "text") ?? []);
  return runs.length > 0 ? runs.join(separator) : label(found);
}

interface Found {
  readonly name: string;
  readonly value: unknown;
}

interface WalkOptions {
  /** Not looked into. */
  readonly except?: ReadonlySet<string> | undefined;
  readonly countMax: number;
}

/** All members of these names, in the order of the text; what lies within one is not looked for. */
export function findMembers(tree: unknown, names: ReadonlySet<string>, { except, countMax }: WalkOptions): Found[] {
  const found: Found[] = [];
  const waiting: { readonly name: string; readonly value: unknown; readonly depth: number }[] = [
    { name: "", value: tree, depth: 0 },
  ];
  for (let seen = 0; waiting.length > 0 && seen < NODES_MAX && found.length < countMax; seen++) {
    const { name, value, depth } = waiting.pop()!; // checked by the loop
    if (names.has(name)) {
      found.push({ name, value });
      continue;
    }
    if (typeof value !== "object" || value === null || depth >= DEPTH_MAX || except?.has(name)) continue;
    const members = Array.isArray(value) ? value.map((entry) => ["", entry] as const) : Object.entries(value);
    if (members.length + waiting.length > NODES_MAX) break;
    for (let index = members.length - 1; index >= 0; index--) {
      const [memberName, memberValue] = members[index]!; // within its length
      waiting.push({ name: memberName, value: memberValue, depth: depth + 1 });
    }
  }
  return found;
}

/** The first member of that name, wherever it is. */
export function findMember(tree: unknown, ...names: readonly string[]): unknown {
  return findMembers(tree, new Set(names), { countMax: 1 })[0]?.value;
}
