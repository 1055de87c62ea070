import { expect, test } from "vitest";
import { GarbageNudge } from "../../../src/lib/garbage-nudge.ts";

const MB = 1024 * 1024;

test("is given once for each fall of 32 MB from the most there was", () => {
  const garbage = new GarbageNudge();
  const nudges = [10, 50, 30, 17, 17, 5, 40, 41, 9, 8].map((usedMb) => garbage.check(usedMb * MB));
  expect(nudges).toEqual([false, false, false, true, false, false, false, false, true, false]);
});
