#!/usr/bin/env node
// The command `opus-encoder-lab`. Plain JavaScript, so that it can report an old Node.js or a missing build.

import { existsSync } from "node:fs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const main = new URL("../dist/lab/main.js", import.meta.url);

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`The lab needs Node.js 20.19 or newer, this is ${process.versions.node}. See https://nodejs.org.`);
  process.exitCode = 1;
} else if (!existsSync(main)) {
  console.error("The lab has not been built yet. Run `npm ci --include=dev` in the checkout, then start it again.");
  process.exitCode = 1;
} else {
  await import(main.href);
}
