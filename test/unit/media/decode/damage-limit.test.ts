import { expect, test } from "vitest";
import { DamageLimit } from "../../../../src/media/decode/damage-limit.ts";

/** Damaged packets in a row until the limit throws. */
function damagedUntilError(limit: DamageLimit): number {
  for (let count = 1; count < 5000; count++) {
    try {
      limit.damaged();
    } catch (error) {
      expect(error).toMatchObject({ code: "media-decode-failed" });
      return count;
    }
  }
  return Number.POSITIVE_INFINITY;
}

test("a stream whose first packets are all damaged ends after a second", () => {
  expect(damagedUntilError(new DamageLimit("aac"))).toBe(50);
});

test("a hole of half a minute in a stream that has played does not end it", () => {
  const limit = new DamageLimit("aac");
  limit.clear();
  expect(damagedUntilError(limit)).toBe(1500);
});
