import { expect, test } from "vitest";
import { RampSearch } from "../../../../lab/bench/compare/ramp-search.ts";

/** Lets the search measure a node that carries exactly so many; returns the tried numbers. */
function search(carried: number, { start = 10, playersMax = 10_000 } = {}) {
  const ramp = new RampSearch({ start, playersMax });
  const tried: number[] = [];
  for (let next = ramp.next; next !== undefined; next = ramp.next) {
    tried.push(next);
    ramp.report(next <= carried);
    if (tried.length > 100) throw new Error("the search does not end");
  }
  return { tried, held: ramp.held, broke: ramp.broke };
}

test("the ramp search doubles until a step fails, and then searches between", () => {
  const { tried } = search(130);
  expect(tried.slice(0, 5)).toEqual([10, 20, 40, 80, 160]);
  expect(tried.slice(5).every((players) => players > 80 && players < 160)).toBe(true);
});

test.each([1, 3, 7, 10, 11, 99, 160, 161, 1999])(
  "the ramp search finds %s players to a twentieth, from either side",
  (carried) => {
    const { held, broke = 0, tried } = search(carried);
    expect(held).toBeLessThanOrEqual(carried);
    expect(broke).toBeGreaterThan(carried);
    expect(broke - held).toBeLessThanOrEqual(Math.max(1, held * 0.05));
    expect(new Set(tried).size).toBe(tried.length);
  },
);

test("the ramp search reports a node that carries no players", () => {
  expect(search(0)).toMatchObject({ held: 0, broke: 1 });
});

test("the ramp search ends at the maximum, which is tried itself", () => {
  expect(search(5000, { playersMax: 75 })).toEqual({ tried: [10, 20, 40, 75], held: 75, broke: undefined });
  expect(search(5000, { start: 100, playersMax: 75 }).tried).toEqual([75]);
});
