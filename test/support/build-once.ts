// Compiles the project, audio loops and programs included, before tests that start a real node: its threads run from
// dist.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { buildBundles } from "../../lab/bundles/build-bundles.ts";
import { refreshKernels } from "../../lab/kernels/build-kernels.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const COMPILER = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
/** The compiler found type errors but wrote its output: `npm run verify` is where they count. */
const WRITTEN_DESPITE_ERRORS = 2;

export async function setup(): Promise<void> {
  for (const project of ["opus-encoder", "tsconfig.build.json"]) {
    const { status } = spawnSync(process.execPath, [COMPILER, "--project", project], { cwd: ROOT, stdio: "inherit" });
    if (status !== 0 && status !== WRITTEN_DESPITE_ERRORS) throw new Error(`the compiler ended with status ${status}`);
  }
  await refreshKernels();
  await buildBundles();
}
