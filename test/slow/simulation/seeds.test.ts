// Many seeds of the simulation (docs/internals/simulation.md), three minutes each.

import { expect, it } from "vitest";
import { simulate } from "../../support/simulate.ts";

const LAST_SEED = 200;
/** Seeds that one process runs; two run at a time. */
const SEEDS_EACH = 50;

it.concurrent.each(
  Array.from(
    { length: LAST_SEED / SEEDS_EACH },
    (_, part) => [part * SEEDS_EACH + 1, (part + 1) * SEEDS_EACH] as const,
  ),
)("every rule holds in three minutes of each seed from %i to %i", async (from, to) => {
  const lines = await simulate("--seeds", `${from}-${to}`, "--minutes", "3");
  expect(lines).toHaveLength(SEEDS_EACH);
  expect(lines.filter((line) => !line.endsWith("all invariants held"))).toEqual([]);
});
