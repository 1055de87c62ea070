// Versions of Node.js from the package `node` of the configured npm registry, for tests that run on another version.

import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** From package.json's `engines` to the newest. A major version means its newest release. */
export const VERSIONS = ["20.19.0", "22", "24", "26"];

/** Installs a version below `folder`; returns the folder of its binary. */
export function installNode(version, folder) {
  const args = ["install", "--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts=false"];
  const { status } = spawnSync("npm", [...args, "--loglevel=error", `node@${version}`], {
    cwd: folder,
    // A program's output is returned to the caller.
    stdio: ["ignore", process.stderr, process.stderr],
  });
  if (status !== 0) throw new Error(`npm could not install node@${version}`);
  return join(folder, "node_modules", "node", "bin");
}
