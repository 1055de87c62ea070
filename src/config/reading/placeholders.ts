// `${NAME:default}` in a file, as Spring knows it: the environment variable NAME, or else the default, which may hold
// further placeholders. `\${` stands for itself. Main thread, at start.

/** As `process.env`: undefined is a variable that is not set. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Limit of nested defaults. */
const DEPTH_MAX = 8;

interface ResolvedText {
  readonly text: string;
  /** A variable that is not set and has no default. */
  readonly missing: string | undefined;
}

/** What is wrong with a text of which the variable `missing` has no value, and what to do. */
export function unsetVariable(missing: string): string {
  return `the environment variable ${missing} is not set; set it, or write \${${missing}:default}`;
}

/** Replaces every placeholder. Text that only looks like the start of one stays as it is. */
export function resolvePlaceholders(text: string, variables: Variables, depth = 0): ResolvedText {
  let result = "";
  let position = 0;
  while (position < text.length) {
    const start = text.indexOf("${", position);
    if (start < 0 || depth >= DEPTH_MAX) break;
    if (text[start - 1] === "\\") {
      result += `${text.slice(position, start - 1)}\${`;
      position = start + 2;
      continue;
    }
    const end = closingBrace(text, start + 2);
    if (end < 0) break;
    const resolved = resolveOne(text.slice(start + 2, end), variables, depth);
    if (resolved.missing !== undefined) return resolved;
    result += text.slice(position, start) + resolved.text;
    position = end + 1;
  }
  return { text: result + text.slice(position), missing: undefined };
}

function resolveOne(inner: string, variables: Variables, depth: number): ResolvedText {
  const colon = inner.indexOf(":");
  const name = colon < 0 ? inner : inner.slice(0, colon);
  const value = variables[name];
  if (value !== undefined) return { text: value, missing: undefined };
  if (colon < 0) return { text: "", missing: name };
  return resolvePlaceholders(inner.slice(colon + 1), variables, depth + 1);
}

function closingBrace(text: string, from: number): number {
  let depth = 1;
  for (let index = from; index < text.length; index++) {
    if (text[index] === "}") depth--;
    else if (text.startsWith("${", index)) depth++;
    if (depth === 0) return index;
  }
  return -1;
}
