// `npm start` and `npx` run the node below a shell that does not pass SIGTERM on: npm ends, and the node would stay. So
// a node that npm started ends with it. Main thread.

import type { Clock } from "../lib/clock.ts";

const CHECK_MS = 500;

interface NpmParentOptions {
  /** The id of the parent process by now. */
  readonly parentId: () => number;
  readonly clock: Clock;
}

/**
 * Calls back once when the shell of npm that started this process is gone, which gives it another parent. On Windows,
 * which has no SIGTERM, the parent's id never changes.
 */
export function watchNpmParent({ parentId, clock }: NpmParentOptions, onGone: () => void): void {
  const first = parentId();
  const check = (): void => {
    if (parentId() === first) clock.after(CHECK_MS, check);
    else onGone();
  };
  clock.after(CHECK_MS, check);
}
