// Versions of Node.js as the configured npm registry brings them, in its package `node`. Run as a program,
// `install-node.mjs VERSION FOLDER` prints the folder of the binary. Plain JavaScript: what runs the rings on them runs
// before anything is built.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** From package.json's `engines` to the newest. A major version stands for the last of it. */
export const VERSIONS = ["20.19.0", "22", "24", "26"];

/** `oldest` and `newest` are versions too. */
export function versionOf(name) {
  if (name === "oldest") return VERSIONS[0];
  return name === "newest" ? VERSIONS.at(-1) : name;
}

/** Installs a version below `folder`; returns the folder of its binary. */
export function installNode(version, folder) {
  const args = ["install", "--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts=false"];
  const { status } = spawnSync("npm", [...args, "--loglevel=error", `node@${version}`], {
    cwd: folder,
    // What a program prints is for its caller.
    stdio: ["ignore", process.stderr, process.stderr],
  });
  if (status !== 0) throw new Error(`npm could not install node@${version}`);
  return join(folder, "node_modules", "node", "bin");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name, folder] = process.argv.slice(2);
  process.stdout.write(`${installNode(versionOf(name), folder)}\n`);
}
