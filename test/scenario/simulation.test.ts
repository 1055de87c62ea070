// A whole node in virtual time (docs/internals/simulation.md), with faults drawn from seeds: every rule holds in each
// of them, and a seed goes the same way again. In a process of its own, compiled, as `npm run simulate` runs it.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const SIMULATE = new URL("../../dist/lab/simulate/main.js", import.meta.url).pathname;
const TIMEOUT_MS = 240_000;

/** The lines that tell of seeds; rejects with all of them when one has gone wrong. */
async function simulate(...options: string[]): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [SIMULATE, ...options]);
  return stdout.split("\n").filter((line) => line.startsWith("seed "));
}

it(
  "whatever befalls a node in half a minute of fifty seeds, the rules hold",
  async () => {
    const lines = await simulate("--seeds", "1-50", "--minutes", "0.5");
    expect(lines).toHaveLength(50);
    expect(lines.filter((line) => !line.endsWith("all rules held"))).toEqual([]);
  },
  TIMEOUT_MS,
);

it(
  "the same seed does the same at the same times",
  async () => {
    const digests = await Promise.all([simulate("--seed", "7"), simulate("--seed", "7")]);
    const [first, second] = digests.map(([line]) => line?.split(", ")[2]);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(second).toBe(first);
  },
  TIMEOUT_MS,
);
