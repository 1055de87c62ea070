// The conformance kit against our own node: every rule is kept.

import { expect, it } from "vitest";
import { formatResults } from "../../../lab/conformance/report.ts";
import { runChecks } from "../../../lab/conformance/run-checks.ts";
import { STAGE_PASSWORD } from "../../../lab/stage/stage.ts";
import { startStage } from "../../support/start-stage.ts";

it("keeps every rule of the protocol", async () => {
  const stage = await startStage();
  try {
    const results = await runChecks({ url: stage.url, password: STAGE_PASSWORD });
    expect(
      results.filter(({ outcome }) => outcome !== "pass").map(({ name }) => name),
      formatResults(results),
    ).toEqual([]);
    expect(results.length).toBeGreaterThan(200);
  } finally {
    await stage.close();
  }
});
