import { expect, test } from "vitest";
import { ThreadTurns } from "../../../../src/media/budget/thread-turns.ts";

/** Who comes when, of some that have used the thread so long already. */
async function orderOf(turns: ThreadTurns, usedMs: readonly number[]): Promise<number[]> {
  const order: number[] = [];
  await Promise.all(usedMs.map((used) => turns.next(used).then(() => order.push(used))));
  return order;
}

test("turns come in the order in which they were asked for", async () => {
  expect(await orderOf(new ThreadTurns(), [5, 1, 3])).toEqual([5, 1, 3]);
});

test("where what is short is to be over soon, who has used least comes first", async () => {
  expect(await orderOf(new ThreadTurns({ isLeastUsedFirst: true }), [5, 1, 3, 0])).toEqual([0, 1, 3, 5]);
});

test("others of the thread have their turn between two", async () => {
  const turns = new ThreadTurns();
  const order: string[] = [];
  const first = turns.next(0).then(() => order.push("first"));
  const second = turns.next(0).then(() => order.push("second"));
  setImmediate(() => order.push("socket"));
  await Promise.all([first, second]);
  expect(order).toEqual(["first", "socket", "second"]);
});
