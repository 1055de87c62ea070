// `npm run lab -- simulate` for tests: compiled, in a separate process.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const SIMULATE = new URL("../../dist/lab/simulate/main.js", import.meta.url).pathname;

/** The lines on seeds; rejects with the whole output when one has failed. Needs dist. */
export async function simulate(...options: readonly string[]): Promise<readonly string[]> {
  const run = promisify(execFile)(process.execPath, [SIMULATE, ...options]);
  const { stdout } = await run.catch((error: Error & { stdout: string }) => {
    throw new Error(`${error.message}\n${error.stdout}`, { cause: error });
  });
  return stdout.split("\n").filter((line) => line.startsWith("seed "));
}
