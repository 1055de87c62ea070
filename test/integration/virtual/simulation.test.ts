// A whole node in virtual time (docs/internals/simulation.md), with faults drawn from seeds. Many more seeds are in test/slow/simulation.

import { expect, it } from "vitest";
import { simulate } from "../../support/simulate.ts";

const TIMEOUT_MS = 600_000;

it(
  "every rule holds in three minutes of six seeds",
  async () => {
    const lines = await simulate("--seeds", "1-6", "--minutes", "3");
    expect(lines).toHaveLength(6);
    expect(lines.filter((line) => !line.endsWith("all rules held"))).toEqual([]);
  },
  TIMEOUT_MS,
);

it(
  "a simulation with a fixed seed breaks no rule and repeats exactly",
  async () => {
    const digests = await Promise.all([1, 2].map(() => simulate("--seed", "7")));
    expect(digests.flat().filter((line) => !line.endsWith("all rules held"))).toEqual([]);
    const [first, second] = digests.map(([line]) => line?.split(", ")[2]);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(second).toBe(first);
  },
  TIMEOUT_MS,
);
