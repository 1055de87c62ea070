// The conformance suite against our own node: every rule passes.

import { expect, it } from "vitest";
import { formatResults } from "../../../lab/conformance/report.ts";
import { runChecks } from "../../../lab/conformance/run-checks.ts";
import { TEST_PASSWORD } from "../../../lab/test-environment/test-environment.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

it("keeps every rule of the protocol", async () => {
  const env = await startTestEnvironment();
  try {
    const results = await runChecks({ url: env.url, password: TEST_PASSWORD });
    expect(
      results.filter(({ outcome }) => outcome !== "pass").map(({ name }) => name),
      formatResults(results),
    ).toEqual([]);
    expect(results.length).toBeGreaterThan(200);
  } finally {
    await env.close();
  }
});
