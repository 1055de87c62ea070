// Adds the missing `integrity` of packages to package-lock.json, from the configured registry. A registry may not serve
// packages for other platforms: those are printed, and stay without. Run by hand: `node .ci/complete-lock.mjs`;
// test/unit/tidy/lock-file.test.ts lists the packages that may be without.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const LOCK_FILE = new URL("../package-lock.json", import.meta.url);

const lock = JSON.parse(readFileSync(LOCK_FILE, "utf8"));
for (const [path, entry] of Object.entries(lock.packages)) {
  if (!path.includes("node_modules/") || entry.link === true || entry.integrity !== undefined) continue;
  const name = `${entry.name ?? path.split("node_modules/").at(-1)}@${entry.version}`;
  const integrity = spawnSync("npm", ["view", name, "dist.integrity"], { encoding: "utf8" }).stdout.trim();
  if (/^sha512-\S+$/.test(integrity)) {
    const { version, ...others } = entry;
    lock.packages[path] = { version, integrity, ...others };
  }
  process.stdout.write(`${name} ${integrity || "is not served by this registry"}\n`);
}
writeFileSync(LOCK_FILE, `${JSON.stringify(lock, null, 2)}\n`);
