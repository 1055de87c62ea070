// Run by npm after an install in a checkout: builds when the build tools are installed. Without them (`npm ci
// --omit=dev`) it prints how to build and succeeds: the install itself is complete, and dist may come from elsewhere.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

// Checks this checkout's folder only: TypeScript in a parent folder does not mean that the other tools are installed.
if (existsSync(new URL("../node_modules/typescript", import.meta.url))) {
  // Through a shell, as npm is a script of another name on Windows.
  const { status } = spawnSync("npm run build", { shell: true, stdio: "inherit" });
  process.exitCode = status ?? 1;
} else {
  process.stderr.write(
    "tonearm: nothing was built, because the development packages are not installed: `npm ci --include=dev` builds, " +
      "and `npm prune --omit=dev` then removes them.\n",
  );
}
