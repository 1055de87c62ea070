// Before `npm pack --workspace opus-encoder`: refuses a checkout that has not been built, and removes modules that an
// older build has left in dist.

import { existsSync, readdirSync, rmSync } from "node:fs";

const DIST = new URL("dist/", import.meta.url);

if (!["index.js", "opus-encoder.wasm", "lab/main.js"].every((path) => existsSync(new URL(path, DIST)))) {
  process.stderr.write("the checkout has not been built: run `npm run build` in its folder first\n");
  process.exit(1);
}
for (const name of readdirSync(DIST)) {
  const [, module] = /^(.+?)(?:\.d\.ts|\.js)$/.exec(name) ?? [];
  if (module !== undefined && !existsSync(new URL(`src/${module}.ts`, import.meta.url))) rmSync(new URL(name, DIST));
}
