// Finds the imports of a file in its text. For the tidy tests.

import { posix } from "node:path";
import type { ProjectFile } from "../../support/project-files.ts";

/** The entries of the packages in this repository, by their names. */
const WORKSPACES: Readonly<Record<string, string>> = { "@tonearm/opus-encoder": "opus-encoder/src/index.ts" };
const FROM =
  /(?:^|\n)(?:import|export)\s[^;]*?from\s+"((?:\.|@tonearm\/)[^"]+)"|\bimport\(\s*"((?:\.|@tonearm\/)[^"]+)"\s*\)|(?:^|\n)import\s+"(\.[^"]+)"/g;

/** The files of the project that it imports, types and late imports included, as paths from the project's root. */
export function importsOf({ path, text }: ProjectFile): string[] {
  return [...text.matchAll(FROM)].map((match) => {
    const name = match[1] ?? match[2] ?? match[3] ?? "";
    return WORKSPACES[name] ?? posix.join(posix.dirname(path), name);
  });
}
