import { expect, test } from "vitest";
import { AccountBuckets } from "../../../src/lib/account-buckets.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("what one account spends, with whatever clients, leaves another's tokens alone", () => {
  const clock = new FakeClock();
  const buckets = new AccountBuckets({ clock, burst: 3, perSecond: 1 });
  const take = (account: string, client: number) => buckets.of([account, `${account}, ${client}`]).take(1);
  expect([1, 2, 3, 4].map((client) => take("key greedy", client))).toEqual([true, true, true, false]);
  expect(take("key honest", 1)).toBe(true);
  clock.advance(1000);
  expect(take("key greedy", 5)).toBe(true);
});
