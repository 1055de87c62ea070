// A reporter for vitest that writes errors outside of tests to the file UNHANDLED_ERRORS: they fail a run, and the JSON
// report is silent about them. Used by test/run-suites.mjs.

import { writeFileSync } from "node:fs";

/** Causes of causes that are printed. */
const MAX_CAUSES = 3;

export default class UnhandledErrors {
  onTestRunEnd(_modules, errors) {
    writeFileSync(process.env.UNHANDLED_ERRORS, errors.map((error) => describe(error)).join("\n"));
  }
}

function describe({ name, message, stack, cause }, causes = 0) {
  const text = stack ?? `${name}: ${message}`;
  return cause === undefined || causes === MAX_CAUSES ? text : `${text}\ncaused by ${describe(cause, causes + 1)}`;
}
