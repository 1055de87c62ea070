#!/usr/bin/env node
// The command `tonearm`. Plain JavaScript, so that it can report a missing build or an old Node.js.

import { existsSync } from "node:fs";
import { setFlagsFromString } from "node:v8";

// Keeps the main thread's young generation at 1 MB instead of letting it grow to 16: it allocates little, and this
// saves 7 MB. Before anything else is loaded, as the heap grows with the loading.
setFlagsFromString("--semi-space-growth-factor=1");
// V8 lets a small heap grow by 2 MB before it collects it whole. Media bytes count as part of it, so a worker with 100
// players would be collected each second, at a tenth of its CPU. A heap may double now.
setFlagsFromString("--heap-growing-percent=100");

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const main = new URL("../dist/node/src/main.js", import.meta.url);
/** The last file that the build writes. */
const notices = new URL("../dist/node/third-party-notices.txt", import.meta.url);

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Tonearm needs Node.js 20.19 or newer, this is ${process.versions.node}. See https://nodejs.org.`);
  process.exitCode = 1;
} else if (!existsSync(main) || !existsSync(notices)) {
  console.error("Tonearm has not been built yet. Run `npm ci --include=dev` in its folder, then start it again.");
  process.exitCode = 1;
} else {
  await import(main.href);
}
