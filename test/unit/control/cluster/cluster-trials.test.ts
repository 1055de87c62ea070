import { expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import { SessionTrial } from "../../../support/session-trial.ts";

const TRIALS = Number(process.env.FUZZ_TRIALS ?? 15);

test("sessions are at one place at most, and found as they were answered after whatever happens", async () => {
  const firstSeed = fuzzSeed();
  const counts: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + TRIALS; seed++) {
    const trial = new SessionTrial(seededRandom(seed));
    await trial.run(90_000);
    await trial.calm(60_000);
    expect({ seed, faults: trial.faults.slice(0, 10) }).toEqual({ seed, faults: [] });
    for (const some of [trial.counts, ...trial.clients.map((client) => client.counts)]) {
      for (const [name, count] of Object.entries(some)) counts[name] = (counts[name] ?? 0) + count;
    }
  }
  console.log(counts);
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
