// The project's own files as text, for the tests that check how it is written.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface ProjectFile {
  /** From the root of the project, with slashes: `src/main.ts`. */
  readonly path: string;
  readonly text: string;
}

export const PROJECT_ROOT = fileURLToPath(new URL("../../", import.meta.url));

const IGNORED = new Set([
  "node_modules",
  "dist",
  "coverage",
  ".git",
  "fixtures",
  "tmp",
  "reports",
  "target",
  "package-lock.json",
]);
const TEXT_FILE = /\.(tsx?|js|mjs|sh|wat|json|md|yml|yaml|toml)$|(^|\/)(LICENSE|run|\.npmrc|\.gitignore)$/;

/** Every text file below `folder`, which ends with a slash or is empty for all. Fixtures are left out. */
export function projectFiles(folder: string): ProjectFile[] {
  const entries = readdirSync(PROJECT_ROOT + folder, { withFileTypes: true }).filter(({ name }) => !IGNORED.has(name));
  return entries.flatMap((entry) => {
    const path = folder + entry.name;
    if (entry.isDirectory()) return projectFiles(`${path}/`);
    return TEXT_FILE.test(path) ? [{ path, text: readFileSync(PROJECT_ROOT + path, "utf8") }] : [];
  });
}

/** The TypeScript files in these folders. */
export function typescriptFiles(...folders: readonly string[]): ProjectFile[] {
  return folders.flatMap(projectFiles).filter(({ path }) => /\.tsx?$/.test(path));
}
