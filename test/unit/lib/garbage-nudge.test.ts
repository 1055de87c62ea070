import { expect, test } from "vitest";
import { GarbageNudge } from "../../../src/lib/garbage-nudge.ts";

const MB = 1024 * 1024;

test("a nudge is given once for each decrease of 32 MB from the maximum", () => {
  const garbage = new GarbageNudge();
  const nudges = [10, 50, 30, 17, 17, 5, 40, 41, 9, 8].map((usedMb) => garbage.check(usedMb * MB));
  expect(nudges).toEqual([false, false, false, true, false, false, false, false, true, false]);
});
