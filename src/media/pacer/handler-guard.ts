// The one way from timers and sockets into what belongs to one voice connection: whatever is thrown there ends that
// connection, not the thread. Handed by its owner to everything that works for it; audio and pacer thread.

/** Makes of a handler one that never throws: its connection takes what it throws. */
export type HandlerGuard = <Args extends readonly unknown[]>(
  handler: (...args: Args) => void,
) => (...args: Args) => void;

interface HandlerGuardOptions {
  /** Does the work in the name of the player it is for, so that the thread knows whom to blame. */
  readonly work: (handler: () => void) => void;
  readonly onThrown: (error: unknown) => void;
}

/** Work that a contained handler does for another of the same owner is contained already. */
export function createHandlerGuard({ work, onThrown }: HandlerGuardOptions): HandlerGuard {
  // What is contained within what is contained has its name already.
  let isNamed = false;
  const attempt = (handler: () => void): void => {
    try {
      handler();
    } catch (error) {
      onThrown(error);
    }
  };
  const attemptInName = (handler: () => void): void => {
    isNamed = true;
    try {
      work(() => attempt(handler));
    } finally {
      // Also when `onThrown` has thrown: later handlers would run without a name.
      isNamed = false;
    }
  };
  return (handler) =>
    (...args) =>
      (isNamed ? attempt : attemptInName)(() => handler(...args));
}
