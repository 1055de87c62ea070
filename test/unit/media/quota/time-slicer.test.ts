import { expect, test } from "vitest";
import type { Owner } from "../../../../src/lib/owners.ts";
import { TimeSlicer } from "../../../../src/media/quota/time-slicer.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

/** The order in which workers run that have used the thread for these times. */
async function orderOf(slicer: TimeSlicer, usedMs: readonly number[]): Promise<number[]> {
  const order: number[] = [];
  await Promise.all(usedMs.map((used) => slicer.next(used).then(() => order.push(used))));
  return order;
}

test("time slices come in the order in which they were requested", async () => {
  expect(await orderOf(new TimeSlicer(), [5, 1, 3])).toEqual([5, 1, 3]);
});

test("with least used first, the work that has used the thread least comes first", async () => {
  expect(await orderOf(new TimeSlicer({ isLeastUsedFirst: true }), [5, 1, 3, 0])).toEqual([0, 1, 3, 5]);
});

test.each<[string, Owner, Owner]>([
  ["another account", ["key 1", "key 1, user 1"], ["key 2", "key 2, user 1"]],
  ["another client of the account", ["key 1", "key 1, user 1"], ["key 1", "key 1, user 2"]],
])("time slices are shared with 400 tracks of %s", async (_whose, attacker, honest) => {
  const clock = new FakeClock();
  const slicer = new TimeSlicer({ clock });
  let othersCount = 0;
  let isOver = false;
  const work = async (owner: Owner): Promise<void> => {
    await slicer.next(0, owner);
    clock.stall(1);
    slicer.addUsedMs(owner, 1);
  };
  const readOn = async (): Promise<void> => {
    while (!isOver) {
      await work(attacker);
      othersCount += 1;
    }
  };
  const others = Array.from({ length: 400 }, readOn);
  for (let slice = 0; slice < 20; slice++) await work(honest);
  isOver = true;
  expect(othersCount).toBeLessThan(60);
  await Promise.all(others);
});

/** The order of time slices and other work, when each time slice's work takes this long. */
async function orderBesideOthers(count: number, workMs: number): Promise<string[]> {
  const clock = new FakeClock();
  const slicer = new TimeSlicer({ clock });
  const order: string[] = [];
  const work = async (name: string): Promise<void> => {
    await slicer.next();
    clock.stall(workMs);
    order.push(name);
  };
  const first = work("1");
  const rest = Array.from({ length: count - 1 }, (_, index) => work(String(index + 2)));
  const others = async (): Promise<void> => {
    while (order.filter((name) => name !== "others").length < count) {
      await new Promise((next) => setImmediate(next));
      order.push("others");
    }
  };
  await Promise.all([first, ...rest, others()]);
  return order;
}

test("other work of the thread runs between two long time slices", async () => {
  const order = await orderBesideOthers(4, 1);
  expect(order.slice(0, 7)).toEqual(["1", "others", "2", "others", "3", "others", "4"]);
});

test("short time slices run together, but so few that other work hardly waits", async () => {
  const short = await orderBesideOthers(11, 0.01);
  expect(short.slice(0, 13)).toEqual(["1", "others", ..."23456789".split(""), "others", "10", "11"]);
  const longer = await orderBesideOthers(8, 0.2);
  expect(longer.slice(0, 10)).toEqual(["1", "others", "2", "3", "4", "others", "5", "6", "7", "others"]);
});

test("a time slice requested while others run is served as well", async () => {
  const slicer = new TimeSlicer({ clock: new FakeClock() });
  let served = 0;
  const again = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) {
      await slicer.next();
      served++;
    }
  };
  await Promise.all([again(3), again(20), again(1)]);
  expect(served).toBe(24);
});
