// `npm run simulate` for tests: compiled, in a process of its own.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const SIMULATE = new URL("../../dist/lab/simulate/main.js", import.meta.url).pathname;

/** The lines that tell of seeds; rejects with all that was printed when one has gone wrong. Needs dist. */
export async function simulate(...options: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [SIMULATE, ...options]);
  return stdout.split("\n").filter((line) => line.startsWith("seed "));
}
