// Finds the module of a third-party plugin: a file, a folder with a package.json, or a package installed beside the
// node's configuration. Main thread, at start.

import { readFileSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { PluginEntry } from "../../config/keys/plugin-entries.ts";
import { NodeError } from "../../errors.ts";

const CONDITIONS = new Set(["node", "import", "module-sync", "default"]);
const CONDITIONS_DEPTH_MAX = 8;

/** The location members of an entry of `tonearm.plugins`; a path is absolute. */
type ModuleLocation = Pick<PluginEntry, "package" | "path">;

/** The file URL of the plugin's module. Throws `plugin-off` with the reason. */
export function findModule(entry: ModuleLocation, cwd: string): string {
  const path = entry.path ?? packageFolder(entry.package ?? "", cwd);
  try {
    const real = realpathSync(path);
    return pathToFileURL(statSync(real).isDirectory() ? join(real, entryOf(real)) : real).href;
  } catch (error) {
    throw new NodeError("plugin-off", `${describePlugin(entry)}: the file does not exist or cannot be read`, {
      cause: error,
    });
  }
}

/** As the operator has named it. */
export function describePlugin({ package: name, path }: ModuleLocation): string {
  return name === undefined ? `the plugin at ${path}` : `the plugin of the package ${name}`;
}

/** Looked for as Node.js does, from where the node was started: `npm install` puts it there. */
function packageFolder(name: string, cwd: string): string {
  const searchPaths = createRequire(join(cwd, "package.json")).resolve.paths(name) ?? [];
  const found = searchPaths
    .map((searchPath) => join(searchPath, name))
    .find((folder) => isFile(join(folder, "package.json")));
  if (found !== undefined) return found;
  throw new NodeError(
    "plugin-off",
    `the package ${name} is not installed; run npm install ${name} beside application.yml`,
  );
}

function entryOf(folder: string): string {
  // Members of another form are passed over.
  const { exports, main } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
  const root = typeof exports === "object" && exports !== null && "." in exports ? exports["."] : exports;
  return [targetOf(root, 0), main].find((value) => typeof value === "string") ?? "index.js";
}

/** The first that holds, as Node.js reads conditions: in their order. */
function targetOf(root: unknown, depth: number): string | undefined {
  if (typeof root === "string") return root;
  if (typeof root !== "object" || root === null || depth > CONDITIONS_DEPTH_MAX) return undefined;
  const targets = Array.isArray(root)
    ? root
    : Object.entries(root).flatMap(([name, to]) => (CONDITIONS.has(name) ? [to] : []));
  for (const target of targets) {
    const found = targetOf(target, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
