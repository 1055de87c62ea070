import { beforeEach, expect, test } from "vitest";
import { LeaseEnd } from "../../../src/bridge/lease-end.ts";

let main: LeaseEnd;
let pacer: LeaseEnd;

beforeEach(() => {
  main = new LeaseEnd();
  pacer = new LeaseEnd(main.memory);
});

test("before the first lease nothing may be sent", () => {
  expect(pacer.isBefore(0, pacer.life)).toBe(false);
});

test("until its end, and not at it, what was begun under a lease may be sent", () => {
  main.extend(1000.5);
  const { life } = pacer;
  expect([pacer.isBefore(1000.25, life), pacer.isBefore(1000.5, life)]).toEqual([true, false]);
  main.extend(2000);
  expect([pacer.isBefore(1999, life), pacer.isBefore(2000, life)]).toEqual([true, false]);
});

test("what was begun under a lease that is over may not be sent under the next one", () => {
  main.extend(1000);
  const { life } = pacer;
  main.end();
  expect(pacer.isBefore(1, life)).toBe(false);
  expect(pacer.isBefore(1, pacer.life)).toBe(false);
  main.extend(3000);
  expect([pacer.isBefore(2000, life), pacer.isBefore(2000, pacer.life)]).toEqual([false, true]);
});
