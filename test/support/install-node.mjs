// Versions of Node.js as the configured npm registry brings them, in its package `node`, for tests that run what they
// test on another version.

import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** From package.json's `engines` to the newest. A major version stands for the last of it. */
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
