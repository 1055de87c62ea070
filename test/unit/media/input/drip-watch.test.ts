import { expect, it } from "vitest";
import { DripWatch } from "../../../../src/media/input/drip-watch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

/** One piece every two seconds; after how many it is said to drip. */
function dripsAfter(sizeBytes: number, isAwaited: boolean): number | undefined {
  const clock = new FakeClock();
  const watch = new DripWatch(clock);
  for (let count = 1; count <= 1_000; count++) {
    clock.advance(2_000);
    if (watch.note(sizeBytes, { isAwaited })) return count;
  }
  return undefined;
}

it("a body of single bytes counts as dripping after half a minute", () => expect(dripsAfter(1, true)).toBe(16));
it("the lowest bit rate of audio does not count as dripping", () => expect(dripsAfter(60, true)).toBeUndefined());
it("a body does not count as dripping while no reader waits", () => expect(dripsAfter(1, false)).toBeUndefined());
