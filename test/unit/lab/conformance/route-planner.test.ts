// The conformance kit against nodes with each route planner: all checks pass, and a broken status is found.

import { afterEach, expect, test } from "vitest";
import { formatResults } from "../../../../lab/conformance/report.ts";
import { runChecks } from "../../../../lab/conformance/run-checks.ts";
import type { PlannerControl } from "../../../../src/control/api/api-context.ts";
import { ApiServer, PASSWORD } from "../../../support/api-server.ts";
import { createPlanner } from "../../../support/planner-builders.ts";

const STRATEGIES = ["RotateOnBan", "LoadBalance", "NanoSwitch", "RotatingNanoSwitch"] as const;

let server: ApiServer;

afterEach(() => server.close());

async function failed(routePlanner: PlannerControl): Promise<string[]> {
  server = await ApiServer.start({ routePlanner });
  const results = await runChecks({
    url: `http://127.0.0.1:${server.port}`,
    password: PASSWORD,
    isSelected: ({ name }) => /planner|free\//.test(name),
  });
  expect(results.length, formatResults(results)).toBeGreaterThan(3);
  return results.filter(({ outcome }) => outcome !== "pass").map(({ name, expected }) => `${name}: ${expected}`);
}

test.each(STRATEGIES)("a node with the planner %s passes the checks", async (strategy) => {
  const { planner } = createPlanner({ strategy, ipBlocks: ["2001:db8::/32"] });
  planner.answer({ type: "routeRequested", routeId: 1, families: [6] });
  planner.onFailure({ type: "routeFailed", address: "2001:db8::7", reason: "banned" });
  expect(await failed(planner)).toEqual([]);
});

test("a planner status with a missing member fails the checks", async () => {
  const { planner } = createPlanner({ strategy: "NanoSwitch", ipBlocks: ["2001:db8::/32"] });
  const { class: name, details } = planner.status();
  const { currentAddressIndex: _, ...rest } = details;
  const broken = { blocks: [], status: () => ({ class: name, details: rest }), free: () => false, freeAll: () => {} };
  expect(await failed(broken)).toEqual([expect.stringContaining("currentAddressIndex")]);
});
