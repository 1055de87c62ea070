import { expect, test } from "vitest";
import { CpuQuotaWatch } from "../../../../src/media/player/cpu-quota-watch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

/** Results of the watch over `seconds`, in each of which the track takes `usedMs`. */
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

test("a track that uses much of its thread for four seconds is reported, and again every four", () => {
  const shares = sharesOf(12, 400, true);
  expect(shares.filter((share) => share !== undefined)).toEqual([0.4, 0.4, 0.4]);
  expect(shares.findIndex((share) => share !== undefined)).toBe(7);
});

test("a track with normal use is never reported, and one alone on its thread may use more", () => {
  expect(sharesOf(60, 200, true)).not.toContainEqual(expect.any(Number));
  expect(sharesOf(60, 600, false)).not.toContainEqual(expect.any(Number));
  expect(sharesOf(8, 900, false)).toContainEqual(0.9);
});

test("a single burst of work, as at the start of a large file, does not exceed the CPU quota", () => {
  const clock = new FakeClock();
  const budget = createTrackBudget({ clock });
  const watch = new CpuQuotaWatch(clock, budget);
  budget.addUsedMs(1300);
  clock.advance(4000);
  expect(watch.check({ hasOthers: true, threadLoad: 1 })).toBeUndefined();
});

test("on a thread that has used little CPU no track is over its quota, however long its work took", () => {
  expect(sharesOf(60, 800, true, 0.1)).not.toContainEqual(expect.any(Number));
  expect(sharesOf(8, 800, true, 0.5)).toContainEqual(0.5);
});
