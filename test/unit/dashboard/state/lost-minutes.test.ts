import { expect, test } from "vitest";
import { barsOf } from "../../../../dashboard/state/lost-minutes.ts";

const MINUTE_MS = 60_000;
const NOW = 100 * MINUTE_MS;

test("each minute of the last hour is a bar as high as its share of the worst one", () => {
  const minutes = [
    { time: 10 * MINUTE_MS, lost: 900 },
    { time: 70 * MINUTE_MS, lost: 100 },
    { time: 85 * MINUTE_MS, lost: 50 },
    { time: 97 * MINUTE_MS, lost: 1 },
  ];
  const { bars, worst, total, startMs } = barsOf(minutes, NOW);
  expect([worst?.lost, total, startMs]).toEqual([100, 151, 40 * MINUTE_MS]);
  expect(bars.map(({ start }) => start)).toEqual([0.5, 0.75, 0.95]);
  expect(bars.map(({ height }) => height)).toEqual([1, 0.5, 0.1]);
});

test("minutes at both ends are cut to the line", () => {
  const { bars } = barsOf(
    [
      { time: 39.5 * MINUTE_MS, lost: 1 },
      { time: 99.5 * MINUTE_MS, lost: 1 },
    ],
    NOW,
  );
  expect(bars.map(({ start }) => start)).toEqual([0, 59.5 / 60]);
  for (const { width } of bars) expect(width).toBeCloseTo(0.5 / 60);
});

test("a player that lost nothing has no bars", () => {
  expect(barsOf([], NOW)).toMatchObject({ bars: [], worst: undefined, total: 0 });
});
