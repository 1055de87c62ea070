// Lets a thread of this process stand back behind the others, or in front of them, where there are not processors for
// all. Linux knows a priority for each thread; where it is the whole process's, nothing is done. A leaf.

import { getPriority, setPriority } from "node:os";
import { ownThreadNumber } from "./thread-cpu.ts";

/**
 * Of `nice`, 0 to 19. Where it shares a processor with a thread that has 0, as all others do, it gets a quarter of it:
 * little enough that nobody is late for it, enough to go on where a machine has too much to do.
 */
const LOWERED_BY = 5;
const NICENESS_MAX = 19;
/**
 * Whoever wakes with it has a processor at once in nine cases of ten, and not when the one who has it has had enough.
 */
const RAISED_NICENESS = -10;

/** For good: taking it back needs rights. The programs that the calling thread starts have it too. */
export function lowerPriority(): void {
  setOwnPriority((niceness) => Math.min(NICENESS_MAX, niceness + LOWERED_BY));
}

/** Where the process has the right to (CAP_SYS_NICE). For a thread that takes a few per cent of a processor. */
export function raisePriority(): void {
  setOwnPriority(() => RAISED_NICENESS);
}

function setOwnPriority(change: (niceness: number) => number): void {
  const threadNumber = ownThreadNumber();
  if (threadNumber === 0) return;
  try {
    setPriority(threadNumber, change(getPriority(threadNumber)));
  } catch {
    // Not allowed here: it goes on like all others.
  }
}
