// Files made field by field and then changed where a reader may not expect it, of every container: none of them may
// make a reader or decoder throw, read without end, or hand on what makes no sense. FUZZ_FILES says how many of each,
// FUZZ_SEED which; one by itself: npm run lab -- isolation generate --container NAME --files 1 --seed SEED.

import { expect, test } from "vitest";
import { runFuzz } from "../../../lab/isolation/fuzz/run-fuzz.ts";
import { CONTAINERS, generateFile } from "../../../lab/isolation/generators/generate-file.ts";
import { fuzzSeed } from "../../support/fuzz-seed.ts";

const FILES = Number(process.env.FUZZ_FILES ?? 200);
/**
 * Minimum share of generated files that play: a kind whose files are mostly invalid from the start would test little.
 * The lowest share of 10,000 each: 36 % (WAV).
 */
const PLAYING_SHARE_MIN = 0.2;
const firstSeed = fuzzSeed();

test.each(CONTAINERS)(
  "no generated file of the kind %s does harm",
  async (container) => {
    const results = await runFuzz({ container, firstSeed, count: FILES });
    const wrong = results.filter(({ problems }) => problems.length > 0);
    expect(wrong.map(({ seed, problems, changes }) => ({ seed, problems, changes }))).toEqual([]);
    expect(results.filter(({ outcome }) => outcome === "plays").length).toBeGreaterThan(FILES * PLAYING_SHARE_MIN);
  },
  60_000 + FILES * 500,
);

test("a seed makes the same file every time", () => {
  for (const container of CONTAINERS) {
    expect(generateFile(container, firstSeed)).toEqual(generateFile(container, firstSeed));
  }
});
