// Prints "PASSED FAILED" for one JSON report of vitest. Used by .ci/run with the report and the exit status of the run.

import { readFileSync } from "node:fs";

const [path = "", status = "1"] = process.argv.slice(2);

function readReport() {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // The run broke off before it wrote a report: counted as a failure below.
    return {};
  }
}

const { numPassedTests = 0, numFailedTests = 0 } = readReport();
// A file that does not load, an error outside of tests, or no test at all fail the run without a failed test.
const isBroken = numFailedTests === 0 && (status !== "0" || numPassedTests === 0);
process.stdout.write(`${numPassedTests} ${numFailedTests + (isBroken ? 1 : 0)}\n`);
