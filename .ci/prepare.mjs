// What npm runs after an install in a checkout: the build, where its tools are. Without them (`npm ci --omit=dev`) it
// says how to get one and succeeds: the install has done what was asked, and dist may come from somewhere else.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

// This checkout's own: one in a folder around it is no sign that the other tools are there.
if (existsSync(new URL("../node_modules/typescript", import.meta.url))) {
  // Through a shell, as npm is a script of another name on Windows.
  const { status } = spawnSync("npm run build", { shell: true, stdio: "inherit" });
  process.exitCode = status ?? 1;
} else {
  process.stderr.write(
    "tonearm: nothing was built, because the development packages are left out: `npm ci --include=dev` builds, " +
      "and `npm prune --omit=dev` then takes them away.\n",
  );
}
