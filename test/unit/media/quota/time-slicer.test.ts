import { expect, test } from "vitest";
import { TimeSlicer } from "../../../../src/media/quota/time-slicer.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

/** Who comes when, of some that have used the thread so long already. */
async function orderOf(slicer: TimeSlicer, usedMs: readonly number[]): Promise<number[]> {
  const order: number[] = [];
  await Promise.all(usedMs.map((used) => slicer.next(used).then(() => order.push(used))));
  return order;
}

test("turns come in the order in which they were asked for", async () => {
  expect(await orderOf(new TimeSlicer(), [5, 1, 3])).toEqual([5, 1, 3]);
});

test("where what is short is to be over soon, who has used least comes first", async () => {
  expect(await orderOf(new TimeSlicer({ isLeastUsedFirst: true }), [5, 1, 3, 0])).toEqual([0, 1, 3, 5]);
});

/** In which order turns and other work come, when each turn's work takes so long. */
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

test("others of the thread have their turn between two that are long", async () => {
  const order = await orderBesideOthers(4, 1);
  expect(order.slice(0, 7)).toEqual(["1", "others", "2", "others", "3", "others", "4"]);
});

test("those that are short come together, so many and so long that others hardly wait", async () => {
  const short = await orderBesideOthers(11, 0.01);
  expect(short.slice(0, 13)).toEqual(["1", "others", ..."23456789".split(""), "others", "10", "11"]);
  const longer = await orderBesideOthers(8, 0.2);
  expect(longer.slice(0, 10)).toEqual(["1", "others", "2", "3", "4", "others", "5", "6", "7", "others"]);
});

test("whoever asks while others have their turns is served as well", async () => {
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
