import { expect, test } from "vitest";
import { PositionClock } from "../../../../src/control/players/position-clock.ts";

test("the position stands still until the first report, then advances at the last reported rate for a second", () => {
  const clock = new PositionClock(2000, 60_000);
  expect([0, 5000].map((epochMs) => clock.at(epochMs))).toEqual([2000, 2000]);
  clock.report({ positionMs: 2020, epochMs: 10_000, rate: 1.5 });
  expect([10_000, 10_100, 11_000, 99_000].map((epochMs) => clock.at(epochMs))).toEqual([2020, 2170, 3520, 3520]);
});

test("a track that ends sooner than estimated is reported to have ended at the reported position", () => {
  const clock = new PositionClock(0, 60_000);
  clock.report({ positionMs: 59_900, epochMs: 1000, rate: 1 });
  expect(clock.at(1060)).toBe(59_960);
  // The container's length includes the padding of its encoder.
  clock.report({ positionMs: 59_948, epochMs: 1061, rate: 0 });
  expect([1061, 1500].map((epochMs) => clock.at(epochMs))).toEqual([59_960, 59_960]);
});

test("late frames make the position stand still for a moment, and it continues when the report has caught up", () => {
  const clock = new PositionClock(0, 60_000);
  clock.report({ positionMs: 1000, epochMs: 1000, rate: 1 });
  expect(clock.at(1500)).toBe(1500);
  clock.report({ positionMs: 1460, epochMs: 1500, rate: 1 });
  expect([1500, 1520, 1540, 1560].map((epochMs) => clock.at(epochMs))).toEqual([1500, 1500, 1500, 1520]);
});

test("a larger step back than a moment is reported unchanged", () => {
  const clock = new PositionClock(0, 60_000);
  clock.report({ positionMs: 1000, epochMs: 1000, rate: 1 });
  expect(clock.at(1500)).toBe(1500);
  clock.report({ positionMs: 1440, epochMs: 1500, rate: 0 });
  expect(clock.at(1500)).toBe(1500);
  clock.report({ positionMs: 1439, epochMs: 1500, rate: 0 });
  expect(clock.at(1500)).toBe(1439);
});

test("no position lies beyond the end of the track or the end time", () => {
  const clock = new PositionClock(0, 60_000);
  clock.setEnd(5000);
  clock.report({ positionMs: 4990, epochMs: 1000, rate: 1 });
  expect([1000, 1010, 1030].map((epochMs) => clock.at(epochMs))).toEqual([4990, 5000, 5000]);
  clock.setEnd(undefined);
  expect(clock.at(1030)).toBe(5020);
  clock.report({ positionMs: 59_990, epochMs: 2000, rate: 1 });
  expect(clock.at(2500)).toBe(60_000);
});

test("a seek goes back, a pause does not", () => {
  const clock = new PositionClock(0, 60_000);
  clock.report({ positionMs: 1000, epochMs: 1000, rate: 1 });
  clock.holdAt(1500);
  clock.report({ positionMs: 1480, epochMs: 1501, rate: 0 });
  expect(clock.at(9000)).toBe(1500);
  clock.jumpTo(200);
  expect(clock.at(9000)).toBe(200);
});
