// The rings of tests: `test` and every script of package.json that begins with `test:`. Run as a program, it prints a
// line for each, as `NAME SCOPE REASON` with tabs between, for .ci/run. Plain JavaScript, as it runs before anything is
// built.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Rings that are the same whatever runs them: they bring the versions that they try. */
const ONCE = new Set(["test:image", "test:install"]);
const PROJECT = new URL("../../", import.meta.url);

/** Why a ring cannot run here, as its script `NAME.sh --check` says it; empty when it can. */
function reasonAgainst(command) {
  const [program, script] = command.split(" ");
  if (program !== "bash") return "";
  const { status, stdout } = spawnSync("bash", [script, "--check"], { cwd: PROJECT, encoding: "utf8" });
  return status === 0 ? "" : stdout.trim() || `${script} --check ended with ${status}`;
}

/** In the order of package.json: `name` of the npm script, whether one Node.js is enough, and what is against it here. */
export function findRings() {
  const { scripts } = JSON.parse(readFileSync(new URL("package.json", PROJECT), "utf8"));
  return Object.entries(scripts)
    .filter(([name]) => name === "test" || name.startsWith("test:"))
    .map(([name, command]) => ({ name, isOnce: ONCE.has(name), reason: reasonAgainst(command) }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { name, isOnce, reason } of findRings()) {
    process.stdout.write(`${name}\t${isOnce ? "once" : "each"}\t${reason.replaceAll(/\s+/g, " ")}\n`);
  }
}
