// Prints "PASSED FAILED" for one JSON report of vitest, and writes each failed test with its messages to FAILURES. Used
// by .ci/run as `count-tests.mjs RING REPORT STATUS FAILURES`, STATUS being the exit status of the run. The file
// UNHANDLED_ERRORS holds errors outside of tests.

import { appendFileSync, readFileSync } from "node:fs";

const [ring = "", path = "", status = "1", failures = ""] = process.argv.slice(2);
/** Enough of a message to know the cause by; a stack or a comparison may be a megabyte. */
const longestMessage = 2_000;

function readReport() {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // The run broke off before it wrote a report: counted as a failure below.
    return {};
  }
}

function tell(title, messages) {
  const texts = messages.map((message) => `${message.slice(0, longestMessage)}\n`);
  appendFileSync(failures, [`\n==> FAILED: ${ring}: ${title}\n`, ...texts].join(""));
}

const { numPassedTests = 0, numFailedTests = 0, testResults = [] } = readReport();
for (const file of testResults) {
  const failed = file.assertionResults.filter((result) => result.status === "failed");
  for (const result of failed) tell(`${file.name} > ${result.fullName}`, result.failureMessages);
  if (file.status === "failed" && failed.length === 0) tell(file.name, [file.message]);
}
// A file that does not load, an error outside of tests, or no test at all fail the run without a failed test.
const isBroken = numFailedTests === 0 && (status !== "0" || numPassedTests === 0);
if (isBroken) {
  const unhandled = readFileSync(process.env.UNHANDLED_ERRORS, "utf8");
  tell("the ring itself", [`it ended with ${status} after ${numPassedTests} tests`, unhandled]);
}
process.stdout.write(`${numPassedTests} ${numFailedTests + (isBroken ? 1 : 0)}\n`);
