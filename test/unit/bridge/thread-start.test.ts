import { expect, test } from "vitest";
import { openOwnMark, startBeating } from "../../../src/bridge/thread-start.ts";
import { BEAT_MS, WorkMark } from "../../../src/bridge/work-mark.ts";
import { ownThreadNumber } from "../../../src/lib/thread-cpu.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("the other side reads from the mark which thread it is, and that it lives", () => {
  const memory = WorkMark.allocate();
  const clock = new FakeClock();
  let seenTo = 0;
  const mark = openOwnMark(memory);
  const otherSide = new WorkMark(memory);
  expect(otherSide.threadNumber).toBe(ownThreadNumber());
  expect(otherSide.beats).toBe(0);

  startBeating(mark, clock, () => {
    seenTo += 1;
  });
  expect([otherSide.beats, seenTo]).toEqual([1, 1]);
  clock.advance(3 * BEAT_MS);
  expect([otherSide.beats, seenTo]).toEqual([4, 4]);
});
