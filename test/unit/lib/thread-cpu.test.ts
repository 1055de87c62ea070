import { expect, test } from "vitest";
import { ownThreadNumber, readThreadCpuMs } from "../../../src/lib/thread-cpu.ts";

const isTold = process.platform === "linux";

test("a thread's processor time grows with what it does, where the system tells", () => {
  const number = ownThreadNumber();
  const beforeMs = readThreadCpuMs(number);
  if (!isTold) {
    expect([number, beforeMs]).toEqual([0, undefined]);
    return;
  }
  let sum = 0;
  while ((readThreadCpuMs(number) ?? 0) < (beforeMs ?? 0) + 5) for (let i = 0; i < 100_000; i++) sum += i;
  expect(sum).toBeGreaterThan(0);
});

test("of a thread that is not there, nothing is known", () => {
  expect(readThreadCpuMs(0)).toBeUndefined();
  expect(readThreadCpuMs(2 ** 31 - 1)).toBeUndefined();
});
