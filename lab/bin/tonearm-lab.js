#!/usr/bin/env node
// The command `tonearm-lab`. Plain JavaScript, so that it can report an old Node.js or a missing build.

import { existsSync } from "node:fs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
/** In the package, and in a checkout. */
const places = ["../dist/lab/main.js", "../../dist/lab/main.js"];
const main = places.map((place) => new URL(place, import.meta.url)).find((url) => existsSync(url));

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`The lab needs Node.js 20.19 or newer, this is ${process.versions.node}. See https://nodejs.org.`);
  process.exitCode = 1;
} else if (main === undefined) {
  console.error("The lab has not been built yet. Run `npm ci --include=dev` in the checkout, then start it again.");
  process.exitCode = 1;
} else {
  process.argv.splice(2, 0, "tonearm-lab");
  await import(main.href);
}
