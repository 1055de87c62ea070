import { describe, expect, it } from "vitest";
import type { PositionReport } from "../../../../src/bridge/position-report.ts";
import { PositionReporter } from "../../../../src/media/player/position-reporter.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const PIPELINE = { runNumber: 0, seekTargetMs: undefined, landedMs: 0, hasJumped: false };

function playing() {
  const clock = new FakeClock();
  const reports: PositionReport[] = [];
  const reporter = new PositionReporter({
    playerId: 1,
    clock,
    locate: () => ({ trackId: 1, seekId: 0, offsetMs: 0, sentRun: 0, pipeline: PIPELINE }),
    send: (report) => reports.push(report),
  });
  reporter.begin(0);
  return { clock, reports, reporter };
}

describe("the position reporter", () => {
  it("the position reporter sends nothing while frames are sent at their deadlines", () => {
    const { clock, reports, reporter } = playing();
    for (let untilMs = 20; untilMs <= 1000; untilMs += 20) {
      clock.advance(20);
      reporter.advance(untilMs, { rate: 1, dueMs: clock.now() });
    }
    expect(reports.map(({ rate }) => rate)).toEqual([1]);
  });

  it("the position reporter reports drift at most ten times a second, however late each frame is", () => {
    const { clock, reports, reporter } = playing();
    for (let untilMs = 20; untilMs <= 1000; untilMs += 20) {
      clock.advance(40);
      reporter.advance(untilMs, { rate: 1, dueMs: clock.now() });
    }
    // Two seconds, in which the first frame causes a separate report.
    expect(reports.length).toBeGreaterThan(10);
    expect(reports.length).toBeLessThanOrEqual(21);
    expect(reports.at(-1)?.positionMs).toBeGreaterThan(940);
  });
});
