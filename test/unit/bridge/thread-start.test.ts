import { expect, test } from "vitest";
import { HEARTBEAT_INTERVAL_MS, Heartbeat } from "../../../src/bridge/heartbeat.ts";
import { openHeartbeat, startHeartbeat } from "../../../src/bridge/thread-start.ts";
import { ownThreadNumber } from "../../../src/lib/thread-cpu.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("the other side reads from the heartbeat which thread it is, and that it is alive", () => {
  const memory = Heartbeat.allocate();
  const clock = new FakeClock();
  let seenTo = 0;
  const heartbeat = openHeartbeat(memory);
  const otherSide = new Heartbeat(memory);
  expect(otherSide.threadNumber).toBe(ownThreadNumber());
  expect(otherSide.beats).toBe(0);

  startHeartbeat(heartbeat, clock, () => {
    seenTo += 1;
  });
  expect([otherSide.beats, seenTo]).toEqual([1, 1]);
  clock.advance(3 * HEARTBEAT_INTERVAL_MS);
  expect([otherSide.beats, seenTo]).toEqual([4, 4]);
});
