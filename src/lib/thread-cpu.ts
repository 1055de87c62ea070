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

/** Milliseconds since the thread began. */
export interface ThreadTimes {
  /** In which it had a processor. */
  readonly cpuMs: number;
  /** In which it wanted one that others had. */
  readonly queuedMs: number;
}

/** Of the thread of this number; undefined where they cannot be known. */
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
