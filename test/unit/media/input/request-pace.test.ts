import { expect, it } from "vitest";
import { RequestPace } from "../../../../src/media/input/request-pace.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { hurry } from "../../../support/input-builders.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

it("many requests at once are served, and a steady flood is slowed to twenty a second", async () => {
  const clock = new FakeClock();
  const pace = new RequestPace(createTrackBudget({ clock }));
  const { signal } = new AbortController();
  for (let count = 0; count < 120; count++) await pace.next(signal);
  expect(clock.now()).toBe(0);
  const flood = async (): Promise<void> => {
    for (let count = 0; count < 2000; count++) await pace.next(signal);
  };
  await hurry(clock, flood());
  expect(clock.now()).toBeGreaterThanOrEqual(100_000);
  expect(clock.now()).toBeLessThan(110_000);
});

it("unused requests accumulate up to a bound", async () => {
  const clock = new FakeClock();
  const pace = new RequestPace(createTrackBudget({ clock }));
  const { signal } = new AbortController();
  clock.advance(3_600_000);
  for (let count = 0; count < 120; count++) await pace.next(signal);
  expect(clock.pendingCount).toBe(0);
  const waiting = pace.next(signal);
  expect(clock.pendingCount).toBe(1);
  await hurry(clock, waiting);
});
