import { describe, expect, test } from "vitest";
import { isTrouble, marksOf, othersIn, spanOf } from "../../../../dashboard/state/incident-time-line.ts";
import { incidentOf } from "../../../support/dashboard-messages.ts";

const NOW = 100_000_000;

describe("the span of the line", () => {
  test.each([
    [[], 600_000],
    [[NOW - 600_000], 600_000],
    [[NOW - 600_001], 1_800_000],
    [[NOW - 10, NOW - 7_200_000], 10_800_000],
    [[NOW - 90_000_000], 86_400_000],
  ])("the span of the time line is the least that contains all of %j", (starts, spanMs) => {
    const incidents = starts.map((start) => incidentOf({ start }));
    expect(spanOf(incidents, NOW)).toBe(spanMs);
  });
});

describe("the marks on the time line", () => {
  test("the marks are at the times of the incidents, oldest first", () => {
    const incidents = [incidentOf({ start: NOW - 100_000 }), incidentOf({ start: NOW - 500_000, length: 50_000 })];
    const marks = marksOf(incidents, NOW, 1_000_000);
    expect(marks.map(({ start, width }) => [start, width])).toEqual([
      [0.5, 0.050000000000000044],
      [0.9, 0.005],
    ]);
  });

  test("the mark of an ongoing incident reaches the end, and never beyond", () => {
    const [mark] = marksOf([incidentOf({ start: NOW - 10, length: 0, isOver: false })], NOW, 1_000_000);
    expect((mark?.start ?? 0) + (mark?.width ?? 0)).toBe(1);
  });

  test("the marks omit incidents before the span, and cut those that began before it", () => {
    const before = incidentOf({ start: NOW - 2_000_000 });
    const across = incidentOf({ start: NOW - 1_500_000, length: 600_000 });
    const marks = marksOf([before, across], NOW, 1_000_000);
    expect(marks.map(({ incident, start }) => [incident, start])).toEqual([[across, 0]]);
    expect(marks[0]?.width).toBeCloseTo(0.1, 6);
  });
});

test("trouble is an incident that is ongoing, or ended less than ten minutes ago", () => {
  const at = (start: number, isOver = true) => isTrouble(incidentOf({ start, length: 1000, isOver }), NOW);
  expect([at(NOW - 601_000), at(NOW - 601_001), at(NOW - 5_000_000, false)]).toEqual([true, false, true]);
  expect(isTrouble(null, NOW)).toBe(false);
});

test("an incident of a late worker has the number of other players that were interrupted with it", () => {
  const shared = [{ start: 5000, length: 200, players: 41, framesLost: 164 }];
  expect(othersIn(incidentOf({ start: 5040, cause: "workerLate" }), shared)).toBe(40);
  expect(othersIn(incidentOf({ start: 5040, cause: "network" }), shared)).toBe(0);
  expect(othersIn(incidentOf({ start: 5300, cause: "workerLate" }), shared)).toBe(0);
});
