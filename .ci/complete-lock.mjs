// Writes the `integrity` of every package into package-lock.json that stands there without, as the configured registry
// tells it. A registry that serves only packages for its own machines knows nothing of the others: those are named, and
// stay without. Run by hand: `node .ci/complete-lock.mjs`; test/unit/tidy/lock-file.test.ts has the list of what may be
// missing.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const LOCK_FILE = new URL("../package-lock.json", import.meta.url);

const lock = JSON.parse(readFileSync(LOCK_FILE, "utf8"));
for (const [path, entry] of Object.entries(lock.packages)) {
  if (path === "" || entry.link === true || entry.integrity !== undefined) continue;
  const name = `${entry.name ?? path.split("node_modules/").at(-1)}@${entry.version}`;
  const integrity = spawnSync("npm", ["view", name, "dist.integrity"], { encoding: "utf8" }).stdout.trim();
  if (/^sha512-\S+$/.test(integrity)) {
    const { version, ...others } = entry;
    lock.packages[path] = { version, integrity, ...others };
  }
  process.stdout.write(`${name} ${integrity || "is not served by this registry"}\n`);
}
writeFileSync(LOCK_FILE, `${JSON.stringify(lock, null, 2)}\n`);
