import { describe, expect, test } from "vitest";
import { Allowance } from "../../../src/lib/allowance.ts";
import { FakeClock } from "../../support/fake-clock.ts";

function create() {
  const clock = new FakeClock();
  return { clock, allowance: new Allowance({ clock, burst: 10, perSecond: 2 }) };
}

describe("an allowance", () => {
  test("lets the whole burst be spent, and not one more", () => {
    const { allowance } = create();
    expect(allowance.spend(10)).toBe(true);
    expect(allowance.waitMs).toBe(0);
    expect(allowance.spend(1)).toBe(false);
    expect(allowance.waitMs).toBe(500);
  });

  test("comes back by the second, up to the burst", () => {
    const { allowance, clock } = create();
    allowance.spend(12);
    clock.advance(500);
    expect(allowance.waitMs).toBe(500);
    clock.advance(500);
    expect(allowance.waitMs).toBe(0);
    clock.advance(60_000);
    expect(allowance.spend(10)).toBe(true);
    expect(allowance.spend(0.1)).toBe(false);
  });

  test("that is taken only where there is enough leaves no debt, however often it was asked for", () => {
    const { allowance, clock } = create();
    expect(allowance.take(10)).toBe(true);
    for (let count = 0; count < 100; count++) expect(allowance.take(1)).toBe(false);
    expect(allowance.waitMs).toBe(0);
    clock.advance(500);
    expect([allowance.take(1), allowance.take(1)]).toEqual([true, false]);
  });

  test("leaves no larger debt than the burst, whatever was spent", () => {
    const { allowance } = create();
    for (let count = 0; count < 100; count++) allowance.spend(1000);
    expect(allowance.waitMs).toBe(5000);
  });
});
