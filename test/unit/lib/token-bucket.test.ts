import { describe, expect, test } from "vitest";
import { TokenBucket } from "../../../src/lib/token-bucket.ts";
import { FakeClock } from "../../support/fake-clock.ts";

function create() {
  const clock = new FakeClock();
  return { clock, bucket: new TokenBucket({ clock, burst: 10, perSecond: 2 }) };
}

describe("a token bucket", () => {
  test("a token bucket allows the whole burst, and not one more", () => {
    const { bucket } = create();
    expect(bucket.spend(10)).toBe(true);
    expect(bucket.waitMs).toBe(0);
    expect(bucket.spend(1)).toBe(false);
    expect(bucket.waitMs).toBe(500);
  });

  test("a token bucket refills every second, up to the burst", () => {
    const { bucket, clock } = create();
    bucket.spend(12);
    clock.advance(500);
    expect(bucket.waitMs).toBe(500);
    clock.advance(500);
    expect(bucket.waitMs).toBe(0);
    clock.advance(60_000);
    expect(bucket.spend(10)).toBe(true);
    expect(bucket.spend(0.1)).toBe(false);
  });

  test("take leaves no debt when there are too few tokens, however often it is called", () => {
    const { bucket, clock } = create();
    expect(bucket.take(10)).toBe(true);
    for (let count = 0; count < 100; count++) expect(bucket.take(1)).toBe(false);
    expect(bucket.waitMs).toBe(0);
    clock.advance(500);
    expect([bucket.take(1), bucket.take(1)]).toEqual([true, false]);
  });

  test("a token bucket leaves no larger debt than the burst, whatever was spent", () => {
    const { bucket } = create();
    for (let count = 0; count < 100; count++) bucket.spend(1000);
    expect(bucket.waitMs).toBe(5000);
  });
});
