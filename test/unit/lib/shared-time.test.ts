import { expect, test } from "vitest";
import { sharedTimeOffsetMs } from "../../../src/lib/shared-time.ts";

/** Two clocks 1000 ms apart; reading each takes a random time. */
function clocksThatTake(costsMs: readonly number[]) {
  let nowMs = 50;
  let reads = 0;
  const read = () => {
    const seenMs = nowMs;
    nowMs += costsMs[reads++ % costsMs.length] ?? 0;
    return seenMs;
  };
  return { ownMs: read, sharedMs: () => read() + 1000 };
}

test("the offset is that of the attempt with the shortest delay", () => {
  const usual = [0.001, 0.001, 0.001];
  const heldUp = [[30, 0.001, 0.001], [0.001, 70, 0.001], usual, [9, 9, 9]].flat();
  expect(sharedTimeOffsetMs(clocksThatTake(heldUp))).toBeCloseTo(1000, 2);
});

test("an offset whose attempts were all delayed is wrong by at most half of the delay", () => {
  expect(Math.abs(sharedTimeOffsetMs(clocksThatTake([4, 0])) - 1000)).toBeLessThanOrEqual(2);
});

test("on this machine two looks give the same time, as near as clocks can be read", () => {
  expect(Math.abs(sharedTimeOffsetMs() - sharedTimeOffsetMs())).toBeLessThan(1);
});
