// Repeat a failure with FUZZ_SEED=<its seed> FUZZ_TRIALS=1; search longer with FUZZ_TRIALS=4000.

import { expect, test } from "vitest";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { MembershipTrial } from "../../support/membership-trial.ts";

const TRIALS = Number(process.env.FUZZ_TRIALS ?? 60);
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1);

test("no machine is taken for dead while it holds its lease, and one that is never cut off never loses it", async () => {
  const counts = { lost: 0, declared: 0, deaths: 0, quick: 0 };
  for (let seed = FIRST_SEED; seed < FIRST_SEED + TRIALS; seed++) {
    const trial = new MembershipTrial(seededRandom(seed));
    await trial.run(120_000);
    await trial.calm(60_000);
    expect({ seed, faults: trial.faults }).toEqual({ seed, faults: [] });
    const ids = trial.alive.map(({ membership }) => membership.self?.id).toSorted();
    const lives = trial.nats.matching(["life/*"]).filter(({ value }) => value !== undefined);
    expect({ seed, ids: lives.map(({ key }) => key.slice("life/".length)).toSorted() }).toEqual({ seed, ids });
    for (const { membership } of trial.alive) {
      expect({ seed, ids: membership.machines.map(({ id }) => id).toSorted() }).toEqual({ seed, ids });
    }
    counts.lost += trial.counts.lost;
    counts.declared += trial.counts.declared;
    counts.deaths += trial.counts.deaths;
    counts.quick += trial.counts.quick;
  }
  expect(Math.min(counts.lost, counts.declared, counts.deaths)).toBeGreaterThan(TRIALS / 2);
  expect(counts.quick).toBeGreaterThan(counts.deaths / 3);
});
