import { readdirSync } from "node:fs";
import { getPriority } from "node:os";
import { expect, test } from "vitest";
import { ownThreadNumber } from "../../../src/lib/thread-cpu.ts";
import { lowerPriority } from "../../../src/lib/thread-priority.ts";

const isLinux = process.platform === "linux";

test.runIf(isLinux)("a thread stands back for itself, not for the others of its process", () => {
  const own = ownThreadNumber();
  const others = readdirSync("/proc/self/task").map(Number);
  const prioritiesOf = () => others.filter((number) => number !== own).map((number) => getPriority(number));
  const before = { own: getPriority(own), others: prioritiesOf() };
  lowerPriority();
  expect(getPriority(own)).toBe(Math.min(19, before.own + 5));
  expect(prioritiesOf()).toEqual(before.others);
});

test.runIf(!isLinux)("where only whole processes have a priority, nothing is changed", () => {
  const before = getPriority();
  lowerPriority();
  expect(getPriority()).toBe(before);
});
