// Lets a thread of this process stand back behind the others, or in front of them, where there are not processors for
// all. Linux knows a priority for each thread; where it is the whole process's, nothing is done. A leaf.

import { getPriority, setPriority } from "node:os";
import { ownThreadNumber } from "./thread-cpu.ts";

/**
 * A niceness, 0 to 19. When it shares a CPU with a thread at 0, the default, the thread gets a quarter of it: little
 * enough to make no other thread late, enough to make progress on an overloaded machine.
 */
const LOWERED_BY = 5;
const NICENESS_MAX = 19;
/**
 * A thread with this niceness gets a CPU at once in nine of ten wake-ups, instead of at the end of the running thread's
 * time slice.
 */
const RAISED_NICENESS = -10;

/** For good: taking it back needs rights. The programs that the calling thread starts have it too. */
export function lowerPriority(): void {
  setOwnPriority((niceness) => Math.min(NICENESS_MAX, niceness + LOWERED_BY));
}

/** Where the process has the right to (CAP_SYS_NICE). For a thread that takes a few per cent of a processor. */
export function raisePriority(): void {
  setOwnPriority((niceness) => Math.min(niceness, RAISED_NICENESS));
}

function setOwnPriority(change: (niceness: number) => number): void {
  const threadNumber = ownThreadNumber();
  if (threadNumber === 0) return;
  try {
    setPriority(threadNumber, change(getPriority(threadNumber)));
  } catch {
    // Not permitted here: the thread keeps its priority.
  }
}
