import { describe, expect, test } from "vitest";
import {
  chartLines,
  type History,
  lossRateOf,
  NO_HISTORY,
  remember,
  withSamples,
} from "../../../../dashboard/state/history.ts";
import { nodeSample, stateMessage } from "../../../support/dashboard-messages.ts";

const field = { width: 100, height: 10, top: 50 };

function historyOf(seconds: number): History {
  let history = NO_HISTORY;
  for (let second = 0; second < seconds; second += 1) {
    history = remember(history, stateMessage([], { atMs: second * 1000 }));
  }
  return history;
}

describe("the history", () => {
  test("the history has each state, with the figures of the charts", () => {
    expect(historyOf(3).points.map(({ atMs }) => atMs)).toEqual([0, 1000, 2000]);
    expect(historyOf(1).points[0]).toMatchObject({ cpu: 0.17, latenessMs: 36, workerLoads: [0.18, 0.68] });
  });

  test("the history covers the whole time with a bounded number of points", () => {
    const history = historyOf(10_000);
    expect(history.points.length).toBeGreaterThan(500);
    expect(history.points.length).toBeLessThanOrEqual(1200);
    expect(history.points[0]?.atMs).toBe(0);
    expect(history.points.at(-1)?.atMs).toBeGreaterThan(9_970_000);
    const gaps = history.points.slice(1).map(({ atMs }, index) => atMs - (history.points[index]?.atMs ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(2 * Math.min(...gaps));
  });

  test("the history begins with the node's last hour, and fills the time that the page was away", () => {
    const minutes = Array.from({ length: 60 }, (_, index) => nodeSample(3_600_000, (59 - index) * 60_000));
    let history = withSamples(NO_HISTORY, minutes);
    expect(history.points).toHaveLength(60);
    for (let second = 1; second <= 90; second += 1) {
      history = remember(history, stateMessage([], { atMs: 3_600_000 + second * 1000 }));
    }
    expect(withSamples(history, minutes)).toEqual(history);
    const later = [nodeSample(3_600_000, -60_000), nodeSample(3_600_000, -180_000)];
    const filled = withSamples(remember(history, stateMessage([], { atMs: 3_900_000 })), later);
    expect(filled.points.slice(-3).map(({ atMs }) => atMs)).toEqual([3_690_000, 3_780_000, 3_900_000]);
  });

  test("the node's last hour stays a line when the page's own samples are thinned out", () => {
    const minutes = Array.from({ length: 60 }, (_, index) => nodeSample(0, (60 - index) * 60_000));
    let history = withSamples(NO_HISTORY, minutes);
    for (let second = 0; second < 3000; second += 1) {
      history = remember(history, stateMessage([], { atMs: second * 1000 }));
    }
    expect(history.points.length).toBeLessThanOrEqual(1200);
    expect(history.points.slice(0, 60)).toEqual(minutes);
    const lines = chartLines(history.points, () => 1, field);
    expect(lines.map((line) => line.split(" ").length)).toEqual([history.points.length]);
  });

  test("the history restarts when the node's clock goes back", () => {
    expect(remember(historyOf(50), stateMessage([], { atMs: 7 })).points.map(({ atMs }) => atMs)).toEqual([7]);
  });
});

test("lost frames are a rate between two samples, and unknown where the node has started again", () => {
  const [before, after] = [nodeSample(0, 2000), { ...nodeSample(0, 0), framesLost: 90 }];
  expect(lossRateOf(after, before)).toBe(25);
  expect([lossRateOf(after, undefined), lossRateOf(before, after)]).toEqual([undefined, undefined]);
});

describe("the line of a chart", () => {
  test("the line of a chart goes from left to right, and its maximum is the top", () => {
    const figures = [0, 25, 500];
    const { points } = historyOf(3);
    expect(chartLines(points, (point) => figures[point.atMs / 1000], field)).toEqual(["0.0,10.0 50.0,5.0 100.0,0.0"]);
  });

  test("the line of a chart has a gap where a value is unknown, and where messages are missing", () => {
    const { points } = historyOf(10);
    const unknown = chartLines(points, ({ atMs }) => (atMs === 5000 ? undefined : 1), field);
    expect(unknown.map((line) => line.split(" ").length)).toEqual([5, 4]);
    const longer = [...points, ...points.map((point) => ({ ...point, atMs: point.atMs + 600_000 }))];
    expect(chartLines(longer, () => 1, field).map((line) => line.split(" ").length)).toEqual([10, 10]);
  });

  test("a chart with one point has no line", () => {
    expect(chartLines(historyOf(1).points, () => 1, field)).toEqual([]);
    expect(chartLines([], () => 1, field)).toEqual([]);
  });
});
