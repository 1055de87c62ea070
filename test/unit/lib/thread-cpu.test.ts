import { expect, test } from "vitest";
import { ownThreadNumber, readThreadTimes } from "../../../src/lib/thread-cpu.ts";

const isSupported = process.platform === "linux";

test("a thread's CPU time grows with its work, where the system provides it", () => {
  const number = ownThreadNumber();
  const before = readThreadTimes(number);
  if (!isSupported) {
    expect([number, before]).toEqual([0, undefined]);
    return;
  }
  let sum = 0;
  while ((readThreadTimes(number)?.cpuMs ?? 0) < (before?.cpuMs ?? 0) + 5) for (let i = 0; i < 100_000; i++) sum += i;
  expect(sum).toBeGreaterThan(0);
  expect(readThreadTimes(number)?.queuedMs).toBeGreaterThanOrEqual(before?.queuedMs ?? 0);
});

test("of a thread that is not there, nothing is known", () => {
  expect(readThreadTimes(0)).toBeUndefined();
  expect(readThreadTimes(2 ** 31 - 1)).toBeUndefined();
});
