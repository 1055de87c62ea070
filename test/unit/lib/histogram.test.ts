import { expect, test } from "vitest";
import { Histogram } from "../../../src/lib/histogram.ts";

test("classes count each value once, those on a bound above it, and those beyond all bounds last", () => {
  const histogram = new Histogram({ widthMs: 0.25, buckets: 400 });
  for (const value of [0, 0.9, 1, 1.9, 2, 59.9, 60, 5000]) histogram.add(value);
  expect(histogram.classCounts([1, 2, 60])).toEqual([2, 2, 2, 2]);
  expect(histogram.sumMs).toBeCloseTo(5125.7);
  histogram.clear();
  expect(histogram.classCounts([1, 2, 60])).toEqual([0, 0, 0, 0]);
  expect(histogram.sumMs).toBe(0);
});
