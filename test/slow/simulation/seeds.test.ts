// Many seeds of the simulation (docs/internals/simulation.md): whatever befalls a node in them, every rule holds.

import { expect, it } from "vitest";
import { simulate } from "../../support/simulate.ts";

const LAST_SEED = 200;
/** So many in one process; the machine's processors share the processes. */
const SEEDS_EACH = 50;

it.concurrent.each(
  Array.from(
    { length: LAST_SEED / SEEDS_EACH },
    (_, part) => [part * SEEDS_EACH + 1, (part + 1) * SEEDS_EACH] as const,
  ),
)("seeds %i to %i", async (from, to) => {
  const lines = await simulate("--seeds", `${from}-${to}`, "--minutes", "0.4");
  expect(lines).toHaveLength(SEEDS_EACH);
  expect(lines.filter((line) => !line.endsWith("all rules held"))).toEqual([]);
});
