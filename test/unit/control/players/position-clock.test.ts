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

test.each([0, -1_000_000])("a length of %i is unknown: positions are where they are", (lengthMs) => {
  const clock = new PositionClock(90_000, lengthMs);
  expect(clock.at(0)).toBe(90_000);
  clock.report({ positionMs: 90_020, epochMs: 1000, rate: 1 });
  expect([1000, 1500].map((epochMs) => clock.at(epochMs))).toEqual([90_020, 90_520]);
});

test.each([0, Number.MAX_VALUE, Number.POSITIVE_INFINITY])(
  "no position of a length of %d exceeds 2^53 - 1",
  (lengthMs) => {
    const clock = new PositionClock(2 ** 63, lengthMs);
    expect(clock.at(0)).toBe(Number.MAX_SAFE_INTEGER);
    clock.report({ positionMs: 2 ** 53, epochMs: 1000, rate: 1 });
    expect(clock.at(2000)).toBe(Number.MAX_SAFE_INTEGER);
  },
);

test("a seek goes back, a pause does not", () => {
  const clock = new PositionClock(0, 60_000);
  clock.report({ positionMs: 1000, epochMs: 1000, rate: 1 });
  clock.holdAt(1500);
  expect(clock.at(1500)).toBe(1500);
  clock.report({ positionMs: 1480, epochMs: 1501, rate: 0 });
  expect(clock.at(9000)).toBe(1500);
  // To start again there would leave 20 ms out.
  expect(clock.heardAt(9000)).toBe(1480);
  clock.holdAt(9000);
  expect([clock.heardAt(9000), clock.at(9000)]).toEqual([1480, 1500]);
  clock.jumpTo(200);
  expect(clock.at(9000)).toBe(200);
});

test("a clock without a report has no rate, and none after a jump or a hold", () => {
  const clock = new PositionClock(0, 60_000);
  const rates = [clock.rate];
  clock.report({ positionMs: 0, epochMs: 1000, rate: 0 });
  rates.push(clock.rate);
  clock.report({ positionMs: 0, epochMs: 1100, rate: 1.5 });
  rates.push(clock.rate);
  clock.report({ positionMs: 300, epochMs: 1300, rate: 0 });
  rates.push(clock.rate);
  clock.jumpTo(5000);
  rates.push(clock.rate);
  clock.report({ positionMs: 5000, epochMs: 1400, rate: 1 });
  clock.holdAt(1500);
  rates.push(clock.rate);
  expect(rates).toEqual([undefined, undefined, 1.5, 0, undefined, undefined]);
});

test("a report is expected where the last one leads to, within 250 ms, at the same rate", () => {
  const clock = new PositionClock(0, 60_000);
  clock.report({ positionMs: 1000, epochMs: 1000, rate: 2 });
  const expects = (positionMs: number, epochMs: number, rate = 2) => clock.expects({ positionMs, epochMs, rate });
  expect([expects(2000, 1500), expects(2250, 1500), expects(1750, 1500), expects(21_000, 11_000)]).not.toContain(false);
  expect([expects(2251, 1500), expects(1749, 1500), expects(2000, 1500, 1), expects(2000, 1500, 0)]).not.toContain(
    true,
  );
});

test("an assumed position runs on without reports until one comes, within the track and its end time", () => {
  const clock = new PositionClock(0, 60_000);
  clock.assume({ positionMs: 1000, epochMs: 1000, rate: 1.5 });
  expect([clock.at(500), clock.at(11_000), clock.at(99_000), clock.rate]).toEqual([1000, 16_000, 60_000, 1.5]);
  clock.assume({ positionMs: 1000, epochMs: 1000, rate: 1.5 });
  clock.setEnd(20_000);
  expect(clock.at(99_000)).toBe(20_000);
  clock.report({ positionMs: 10_000, epochMs: 100_000, rate: 1 });
  expect(clock.at(105_000)).toBe(11_000);
});
