// What a file gives away, and what it takes from others, read from its text. For the tidy tests.

import { posix } from "node:path";
import type { ProjectFile } from "../../support/project-files.ts";

export interface Export {
  readonly name: string;
  readonly kind: string;
  /** From 1. */
  readonly line: number;
  /** A docstring ends on the line above. */
  readonly isDocumented: boolean;
}

export interface ImportedName {
  /** Of the file it comes from, seen from the project's root. */
  readonly path: string;
  readonly name: string;
}

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(class|interface|type|function|const|let)\*? ([A-Za-z_$][\w$]*)/;
const MEMBER = /^ {2}(?:(?:static|readonly|async|get|set|override|abstract) )*\*?([A-Za-z][\w$]*)\??[(:<;]/;
const IMPORT = /(?:^|\n)import\s+(?:type\s+)?\{([^}]*)\}\s+from\s+"(\.[^"]+)"/g;

/** Every declaration that a file exports. */
export function exportsOf({ text }: ProjectFile): Export[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    const [, kind = "", name = ""] = DECLARATION.exec(line) ?? [];
    return name === "" ? [] : [{ name, kind, line: index + 1, isDocumented: hasDocstringAbove(lines, index) }];
  });
}

/** The public members of an exported class or interface. */
export function membersOf({ text }: ProjectFile, { kind, line: firstLine }: Export): Export[] {
  if (kind !== "class" && kind !== "interface") return [];
  const lines = text.split("\n");
  const isEmpty = lines[firstLine - 1]?.endsWith("{}") === true;
  const end = isEmpty ? firstLine : lines.findIndex((line, index) => index >= firstLine && line.startsWith("}"));
  const members = new Map<string, Export>();
  for (const [index, line] of lines.slice(0, end).entries()) {
    const name = index < firstLine ? undefined : MEMBER.exec(line)?.[1];
    // The first of several forms speaks for all.
    if (name === undefined || name === "constructor" || members.has(name)) continue;
    members.set(name, { name, kind: "member", line: index + 1, isDocumented: hasDocstringAbove(lines, index) });
  }
  return [...members.values()];
}

/** What a file imports by name from other files of the project, under the name it has there. */
export function namesImportedBy({ path, text }: ProjectFile): ImportedName[] {
  return [...text.matchAll(IMPORT)].flatMap(([, names = "", target = ""]) =>
    [...names.matchAll(/(?:^|,)\s*(?:type )?([\w$]+)/g)].map(([, name = ""]) => ({
      path: posix.join(posix.dirname(path), target),
      name,
    })),
  );
}

function hasDocstringAbove(lines: readonly string[], index: number): boolean {
  const above = lines.findLastIndex((line, at) => at < index && !/^\s*\/\/ biome-ignore/.test(line));
  return /\*\/$/.test(lines[above] ?? "");
}
