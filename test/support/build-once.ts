// Compiles the project before tests that start a real node: audio workers run what is in dist.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export function setup(): void {
  const compiler = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
  execFileSync(process.execPath, [compiler, "--project", "tsconfig.build.json"], { cwd: ROOT, stdio: "inherit" });
}
