import { expect, test } from "vitest";
import { CpuQuotaWatch } from "../../../../src/media/player/cpu-quota-watch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

/** What the watch says over `seconds` in each of which the track takes `usedMs`. */
function sharesOf(seconds: number, usedMs: number, hasOthers: boolean, threadLoad = 1): (number | undefined)[] {
  const clock = new FakeClock();
  const budget = createTrackBudget({ clock });
  const watch = new CpuQuotaWatch(clock, budget);
  return Array.from({ length: seconds * 2 }, () => {
    clock.advance(500);
    budget.addUsedMs(usedMs / 2);
    return watch.check({ hasOthers, threadLoad });
  });
}

test("a track that takes much of its thread for four seconds is told of, and again every four", () => {
  const shares = sharesOf(12, 400, true);
  expect(shares.filter((share) => share !== undefined)).toEqual([0.4, 0.4, 0.4]);
  expect(shares.findIndex((share) => share !== undefined)).toBe(7);
});

test("one that takes what music takes never is, and one that nobody waits for may take more", () => {
  expect(sharesOf(60, 200, true)).not.toContainEqual(expect.any(Number));
  expect(sharesOf(60, 600, false)).not.toContainEqual(expect.any(Number));
  expect(sharesOf(8, 900, false)).toContainEqual(0.9);
});

test("much work once, as at the start of a large file, is no greed", () => {
  const clock = new FakeClock();
  const budget = createTrackBudget({ clock });
  const watch = new CpuQuotaWatch(clock, budget);
  budget.addUsedMs(1300);
  clock.advance(4000);
  expect(watch.check({ hasOthers: true, threadLoad: 1 })).toBeUndefined();
});

test("where the whole thread has used little, no track can have used much, however long its work took", () => {
  expect(sharesOf(60, 800, true, 0.1)).not.toContainEqual(expect.any(Number));
  expect(sharesOf(8, 800, true, 0.5)).toContainEqual(0.5);
});
