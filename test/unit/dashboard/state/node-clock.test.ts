import { expect, test } from "vitest";
import { NodeClock } from "../../../../dashboard/state/node-clock.ts";

test("a delayed message moves the clock by little", () => {
  const clock = new NodeClock();
  clock.update(1000, 5000);
  expect(clock.now(5000)).toBe(1000);
  clock.update(2000, 6400);
  expect(clock.now(7000)).toBe(2980);
});

test("the quickest message is trusted", () => {
  const clock = new NodeClock();
  clock.update(1000, 5300);
  clock.update(2000, 6000);
  expect(clock.now(6000)).toBe(2000);
});

test("a clock that was set is followed", () => {
  const clock = new NodeClock();
  clock.update(100_000, 5000);
  clock.update(2000, 6000);
  expect(clock.now(6500)).toBe(2500);
});
