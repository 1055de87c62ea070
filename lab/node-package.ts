// The node that programs of the lab start: that of the checkout, or the installed package `tonearm`. Lab only.

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { CannotRun } from "./cannot-run.ts";

/**
 * The location of a file of the node's package: `bin/tonearm.js`. In a checkout that package is the checkout itself, by
 * its own name; for the package `@tonearm/lab` it is the one that Node.js finds beside it. Throws `CannotRun` when there
 * is none.
 */
export function nodeFile(path: string): string {
  try {
    const { resolve } = createRequire(new URL("../package.json", import.meta.url));
    return join(dirname(resolve("tonearm/package.json")), path);
  } catch (cause) {
    throw new CannotRun(
      "this program starts a node, and the package tonearm is not installed beside @tonearm/lab: run `npm install ./tonearm-VERSION.tgz`, made by `npm pack` in a checkout of Tonearm",
      { cause },
    );
  }
}
