import { expect, test } from "vitest";
import { runSessionTrials } from "../../../support/session-trial.ts";

/** Always the same ones: what fails is of the change then. Random ones are among the slow suites. */
const FIRST_SEED = 1;
const TRIALS = 15;

test("sessions are at one place at most, and found as they were answered after whatever happens", async () => {
  const { faults, counts } = await runSessionTrials(FIRST_SEED, TRIALS);

  expect(faults).toEqual([]);
  for (const name of [
    "given",
    "taken",
    "adopted",
    "lost",
    "deaths",
    "left",
    "released",
    "resumed",
    "ended",
    "received",
  ]) {
    expect({ name, count: counts[name] }).toEqual({ name, count: expect.toSatisfy((count) => count > 0) });
  }
}, 60_000);
