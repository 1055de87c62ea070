import { expect, test } from "vitest";
import { FailingAddresses } from "../../../../src/control/route-planner/failing-addresses.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const SEVEN_DAYS_MS = 7 * 24 * 3600 * 1000;

function create() {
  const clock = new FakeClock();
  const freed: bigint[] = [];
  return {
    clock,
    freed,
    failing: new FailingAddresses({
      clock,
      barredMs: SEVEN_DAYS_MS,
      addressAt: String,
      onFreed: (index) => freed.push(index),
    }),
  };
}

test("an address is free again seven days after it failed, and not a millisecond before", () => {
  const { clock, freed, failing } = create();
  failing.add(1n);
  clock.advance(1000);
  failing.add(2n);
  clock.advance(SEVEN_DAYS_MS - 1001);
  failing.expire();
  expect(freed).toEqual([]);
  clock.advance(1);
  failing.expire();
  expect(freed).toEqual([1n]);
  clock.advance(1000);
  failing.expire();
  expect(freed).toEqual([1n, 2n]);
  expect(failing.count).toBe(0);
});

test("an address that fails again is blocked from then on", () => {
  const { clock, freed, failing } = create();
  failing.add(1n);
  failing.add(2n);
  clock.advance(SEVEN_DAYS_MS - 1);
  failing.add(1n);
  clock.advance(1);
  failing.expire();
  expect(freed).toEqual([2n]);
  expect(failing.list()).toMatchObject([{ failingAddress: "/1", failingTimestamp: clock.epochMs() - 1 }]);
});

test("the last 10,000 of a hundred thousand failing addresses are stored", () => {
  const { freed, failing } = create();
  for (let index = 0n; index < 100_000n; index++) failing.add(index);
  expect(failing.count).toBe(10_000);
  expect(freed.length).toBe(90_000);
  expect(failing.list()[0]?.failingAddress).toBe("/90000");
  expect(freed.at(-1)).toBe(89_999n);
});

test("freeing all frees each once", () => {
  const { freed, failing } = create();
  for (const index of [3n, 1n, 2n]) failing.add(index);
  failing.free(1n);
  failing.freeAll();
  failing.freeAll();
  failing.free(3n);
  expect(freed).toEqual([1n, 3n, 2n]);
});

test("failing addresses stay in the order of their times, whatever is freed and fails again in between", () => {
  const { clock, failing } = create();
  for (let index = 0n; index < 6n; index++) failing.add(index);
  clock.advance(1);
  for (const index of [0n, 3n, 5n]) failing.add(index);
  for (const index of [1n, 3n, 4n]) failing.free(index);
  expect(failing.list().map(({ failingAddress }) => failingAddress)).toEqual(["/2", "/0", "/5"]);
  failing.freeAll();
  failing.add(9n);
  expect(failing.list().map(({ failingAddress }) => failingAddress)).toEqual(["/9"]);
});
