import { expect, test } from "vitest";
import { Ledger } from "../../../src/state/ledger.ts";

const entry = (mark: number, sizeBytes = 10) => ({ mark, sizeBytes });
const LARGEST = 2 ** 48 - 1;

test("the total depends on what is there, not on how it came to be", () => {
  const one = new Ledger();
  one.set("a", entry(LARGEST));
  one.set("b", entry(5));
  one.set("a", entry(7));
  const other = new Ledger();
  other.set("c", entry(LARGEST));
  other.set("b", entry(5));
  other.set("a", entry(7));
  other.set("c", undefined);
  expect(one.total).toEqual({ count: 2, sum: 12 });
  expect(other.total).toEqual(one.total);
  other.set("a", entry(8));
  expect(other.total).not.toEqual(one.total);
});

test("sums stay exact beyond 48 bits", () => {
  const ledger = new Ledger();
  for (let index = 0; index < 1000; index++) ledger.set(`${index}`, entry(LARGEST - index));
  for (let index = 1; index < 1000; index++) ledger.set(`${index}`, undefined);
  expect(ledger.total).toEqual({ count: 1, sum: LARGEST });
});

test("count and size after changes are known before they are made", () => {
  const ledger = new Ledger();
  ledger.set("a", entry(1, 100));
  ledger.set("b", entry(2, 10));
  const changes = new Map([
    ["a", entry(3, 50)],
    ["b", undefined],
    ["c", entry(4, 7)],
    ["d", undefined],
  ]);
  const after = ledger.after(changes);
  expect(after).toEqual({ count: 2, sizeBytes: 57 });
  for (const [key, changed] of changes) ledger.set(key, changed);
  expect(ledger.after(new Map())).toEqual(after);
});
