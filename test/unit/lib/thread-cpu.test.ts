import { readdirSync, readlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { createCpuClock, ownThreadNumber, readThreadTimes } from "../../../src/lib/thread-cpu.ts";

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

test("a thread that does not exist has no times", () => {
  expect(readThreadTimes(0)).toBeUndefined();
  expect(readThreadTimes(2 ** 31 - 1)).toBeUndefined();
});

test("the clock of a thread reads the time that the system counts, or the time where it counts none", () => {
  const cpuMs = createCpuClock();
  const number = ownThreadNumber();
  for (let reading = 0; reading < 2; reading++) {
    const before = readThreadTimes(number)?.cpuMs ?? performance.now();
    const read = cpuMs();
    expect(read).toBeGreaterThanOrEqual(before);
    expect(read).toBeLessThanOrEqual(readThreadTimes(number)?.cpuMs ?? performance.now());
  }
});

test.runIf(isSupported)("the clock of a thread opens one file, however often it is read", () => {
  const cpuMs = createCpuClock();
  const before = countOpenFiles();
  for (let reading = 0; reading < 3; reading++) cpuMs();
  expect(countOpenFiles()).toBe(before + 1);
});

/** Of those that say the times of the calling thread. */
function countOpenFiles(): number {
  const ending = `/task/${ownThreadNumber()}/schedstat`;
  return readdirSync("/proc/self/fd").filter((name) => targetOf(`/proc/self/fd/${name}`).endsWith(ending)).length;
}

/** Nothing for a file that has been closed meanwhile. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}
