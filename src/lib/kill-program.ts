// Ends a program that this process has started, with all that it has started itself. A leaf: where programs run, and
// where they are ended for a thread that cannot do so any more.

/** On Windows there are no process groups; there the program alone is killed. */
export const HAS_PROGRAM_GROUPS = process.platform !== "win32";

/** `pid`: of one that leads a group of its own (`detached`) and has not been seen to exit, so that the id is still its. */
export function killProgram(pid: number): void {
  try {
    process.kill(HAS_PROGRAM_GROUPS ? -pid : pid, "SIGKILL");
  } catch {
    // Nothing of it is left.
  }
}
