// CPU time of single threads of this process, from Linux's /proc; other systems do not provide it. A thread reads its
// own number; any other thread can then read its CPU time, even when it no longer responds. Has no domain knowledge.

import { openSync, readFileSync, readlinkSync, readSync } from "node:fs";

/** Three numbers of up to 20 digits. */
const TEXT_BYTES = 64;

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

/**
 * Reads the CPU time of the thread that calls it, milliseconds; where the system does not provide it, the time.
 * Allocates no object after its first call. One per thread: it keeps a file open, which Node.js closes with the thread.
 */
export function createCpuClock(): () => number {
  let file: number | undefined;
  let isAvailable = true;
  const text = new Uint8Array(TEXT_BYTES);
  return () => {
    if (!isAvailable) return performance.now();
    try {
      file ??= openSync("/proc/thread-self/schedstat", "r");
      if (readSync(file, text, 0, TEXT_BYTES, 0) > 0) return firstNumberIn(text) / 1e6;
    } catch {
      // Not Linux, or not permitted.
    }
    isAvailable = false;
    return performance.now();
  };
}

/** Of decimal ASCII digits, up to the first other character. */
function firstNumberIn(text: Uint8Array): number {
  let number = 0;
  for (let index = 0; index < text.length; index++) {
    const digit = text[index]! - 48;
    if (digit < 0 || digit > 9) break;
    number = 10 * number + digit;
  }
  return number;
}
