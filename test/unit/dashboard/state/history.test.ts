import { describe, expect, test } from "vitest";
import { chartLines, type History, NO_HISTORY, remember } from "../../../../dashboard/state/history.ts";
import { stateMessage } from "../../../support/dashboard-messages.ts";

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

  test("the history restarts when the node's clock goes back", () => {
    expect(remember(historyOf(50), stateMessage([], { atMs: 7 })).points.map(({ atMs }) => atMs)).toEqual([7]);
  });
});

describe("the line of a chart", () => {
  const field = { width: 100, height: 10, top: 50 };

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
