import { expect, test } from "vitest";
import { ByteBudget } from "../../../src/lib/byte-budget.ts";

const MEGABYTE = 1024 * 1024;

test("a reservation beyond the limit is refused with its owner and purpose, and nothing is counted", () => {
  const budget = new ByteBudget({ owner: "the track", limitBytes: 2 * MEGABYTE });
  budget.take(1.5 * MEGABYTE, "its tables");
  expect(() => budget.take(MEGABYTE, "its tables")).toThrow(
    "the track needs 1.0 MB of memory for its tables: that would exceed its limit of 2.0 MB",
  );
  expect(budget.usedBytes).toBe(1.5 * MEGABYTE);
});

test("bytes of a child count in its parent too, and a parent's refusal leaves the child unchanged", () => {
  const parent = new ByteBudget({ owner: "the worker", limitBytes: 100 });
  const first = new ByteBudget({ owner: "the track", limitBytes: 80, parent });
  const second = new ByteBudget({ owner: "the track", limitBytes: 80, parent });
  first.take(70, "a");
  expect(() => second.take(40, "b")).toThrow("the worker");
  expect([first.usedBytes, second.usedBytes, parent.usedBytes]).toEqual([70, 0, 70]);
  first.releaseAll();
  second.take(40, "b");
  expect(parent.usedBytes).toBe(40);
});

test("more bytes than were reserved cannot be released", () => {
  const parent = new ByteBudget({ owner: "the worker", limitBytes: 100 });
  const child = new ByteBudget({ owner: "the track", limitBytes: 80, parent });
  parent.take(10, "else");
  child.take(20, "a");
  child.release(50);
  expect([child.usedBytes, parent.usedBytes]).toEqual([0, 10]);
});

test("sizes that are not numbers are refused", () => {
  const budget = new ByteBudget({ owner: "the track", limitBytes: 80 });
  expect(() => budget.take(Number.NaN, "a")).toThrow();
  expect(() => budget.take(Number.POSITIVE_INFINITY, "a")).toThrow();
});

test("owners that use much leave memory for owners that use little, however many they are", () => {
  const parent = new ByteBudget({ owner: "the worker", limitBytes: 100 });
  const reserve = { ownBytes: 5, leftBytes: 30 };
  const track = () => new ByteBudget({ owner: "the track", limitBytes: 50, parent, reserve });
  track().take(40, "a");
  const heavy = track();
  heavy.take(30, "b");
  expect(heavy.hasCapacity(1)).toBe(false);
  expect(() => heavy.take(1, "b")).toThrow("the rest is reserved for owners that use little");
  expect(() => track().take(6, "c")).toThrow("the rest is reserved for owners that use little");
  for (let count = 0; count < 6; count++) track().take(5, "d");
  expect(parent.usedBytes).toBe(100);
  expect(() => track().take(1, "e")).toThrow("the worker");
});
