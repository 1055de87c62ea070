// Whole sessions on several machines in fake time, with other seeds in each run. Repeat a failure with FUZZ_SEED=<its seed>
// FUZZ_TRIALS=1.

import { expect, test } from "vitest";
import { fuzzSeed } from "../../support/fuzz-seed.ts";
import { runSessionTrials } from "../../support/session-trial.ts";

const TRIALS = Number(process.env.FUZZ_TRIALS ?? 500);

test("sessions are at one place at most, and found as they were answered after whatever happens", async () => {
  const { faults } = await runSessionTrials(fuzzSeed(), TRIALS);

  expect(faults).toEqual([]);
}, 1_800_000);
