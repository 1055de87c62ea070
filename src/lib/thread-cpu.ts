// Processor time of single threads of this process, from Linux's /proc; other systems do not tell. A thread reads its
// own number, any other thread can then read what it has used, also when it answers to nothing any more. A leaf.

import { readFileSync, readlinkSync } from "node:fs";

/** The system's number of the calling thread; 0 where it cannot be known. */
export function ownThreadNumber(): number {
  try {
    return Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  } catch {
    return 0;
  }
}

/** Milliseconds of processor time that the thread of this number has used; undefined where it cannot be known. */
export function readThreadCpuMs(threadNumber: number): number | undefined {
  if (threadNumber === 0) return undefined;
  try {
    const [usedNs] = readFileSync(`/proc/self/task/${threadNumber}/schedstat`, "latin1").split(" ");
    const usedMs = Number(usedNs) / 1e6;
    return Number.isFinite(usedMs) ? usedMs : undefined;
  } catch {
    return undefined;
  }
}
