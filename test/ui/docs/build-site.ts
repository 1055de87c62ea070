// Builds the docs site as `npm run docs` does, once before its tests. The OpenAPI document is requested from the node
// in dist, so that is built first.

import { spawnSync } from "node:child_process";
import { setup as buildProject } from "../../support/build-once.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";

export async function setup(): Promise<void> {
  await buildProject();
  const { status, stdout, stderr } = spawnSync("npm run docs", { cwd: PROJECT_ROOT, shell: true, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm run docs ended with status ${status}:\n${stdout}${stderr}`);
}
