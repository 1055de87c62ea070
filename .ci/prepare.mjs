// What npm runs after an install in a checkout: the build, where its tools are. Without them (`npm ci --omit=dev`) it
// says how to get one and succeeds: the install has done what was asked, and dist may come from somewhere else.

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

function hasCompiler() {
  try {
    createRequire(import.meta.url).resolve("typescript/package.json");
    return true;
  } catch {
    // Left out; whatever else hinders the build, the build itself says.
    return false;
  }
}

if (hasCompiler()) {
  // Through a shell, as npm is a script of another name on Windows.
  const { status } = spawnSync("npm run build", { shell: true, stdio: "inherit" });
  process.exitCode = status ?? 1;
} else {
  process.stderr.write(
    "tonearm: nothing was built, because the development packages are left out: `npm ci --include=dev` builds, " +
      "and `npm prune --omit=dev` then takes them away.\n",
  );
}
