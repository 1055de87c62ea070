// CPU time of single threads of this process, from Linux's /proc; other systems do not provide it. A thread reads its
// own number; any other thread can then read its CPU time, even when it no longer responds. Has no domain knowledge.

import { readFileSync, readlinkSync } from "node:fs";

/** The system's number of the calling thread; 0 where it cannot be known. */
export function ownThreadNumber(): number {
  try {
    return Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  } catch {
    return 0;
  }
}

/** Milliseconds since the start of the thread. */
export interface ThreadTimes {
  /** Time running on a CPU. */
  readonly cpuMs: number;
  /** Time runnable, but waiting for a CPU. */
  readonly queuedMs: number;
}

/** The times of the thread with this number; undefined where they are not available. */
export function readThreadTimes(threadNumber: number): ThreadTimes | undefined {
  if (threadNumber === 0) return undefined;
  try {
    const text = readFileSync(`/proc/self/task/${threadNumber}/schedstat`, "latin1");
    const [cpuMs = Number.NaN, queuedMs = Number.NaN] = text.split(" ").map((ns) => Number(ns) / 1e6);
    return Number.isFinite(cpuMs) && Number.isFinite(queuedMs) ? { cpuMs, queuedMs } : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the CPU time of the thread that calls it, milliseconds; where the system does not provide it, the time. */
export function createCpuClock(): () => number {
  let threadNumber: number | undefined;
  return () => {
    threadNumber ??= ownThreadNumber();
    return readThreadTimes(threadNumber)?.cpuMs ?? performance.now();
  };
}
