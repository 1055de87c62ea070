// A whole node in virtual time (docs/internals/simulation.md), with faults drawn from seeds: every rule holds, and a
// seed goes the same way again. Many more seeds are in test/slow/simulation.

import { expect, it } from "vitest";
import { simulate } from "../../support/simulate.ts";

const TIMEOUT_MS = 120_000;

it(
  "whatever befalls a node in ten seeds, the rules hold",
  async () => {
    const lines = await simulate("--seeds", "1-10", "--minutes", "0.4");
    expect(lines).toHaveLength(10);
    expect(lines.filter((line) => !line.endsWith("all rules held"))).toEqual([]);
  },
  TIMEOUT_MS,
);

it(
  "the same seed does the same at the same times",
  async () => {
    const digests = await Promise.all([1, 2].map(() => simulate("--seed", "7", "--minutes", "0.4")));
    const [first, second] = digests.map(([line]) => line?.split(", ")[2]);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(second).toBe(first);
  },
  TIMEOUT_MS,
);
