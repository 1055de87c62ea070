import { expect, test } from "vitest";
import { reportDave } from "../../../src/cli/dave-report.ts";
import { createLogger } from "../../../src/log/log.ts";

test("a missing native library of DAVE is an error that says what to install, and a present one is no line", async () => {
  const lines: [string, string][] = [];
  const logger = createLogger((level, message) => lines.push([level, message]));
  await reportDave(logger);
  expect(lines).toEqual([]);
  await reportDave(logger, () => Promise.reject(new Error("Cannot find native binding")));
  expect(lines).toEqual([["error", expect.stringMatching(/^DAVE is not available: .* @snazzah\/davey .* doctor$/)]]);
});
