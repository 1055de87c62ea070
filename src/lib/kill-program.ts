// Ends a program that this process has started, with all that it has started itself. A leaf: where programs run, and
// where they are ended for a thread that cannot do so any more.

/** Windows has no process groups; there only the program itself is killed. */
export const HAS_PROGRAM_GROUPS = process.platform !== "win32";

/**
 * Kills the process group that `pid` leads. The program must have been started `detached`, and not have been seen to
 * exit, so that the id still belongs to it.
 */
export function killProgram(pid: number): void {
  try {
    process.kill(HAS_PROGRAM_GROUPS ? -pid : pid, "SIGKILL");
  } catch {
    // Nothing of it is left.
  }
}
