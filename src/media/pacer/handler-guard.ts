// The only path from timers and sockets into the code of one voice connection: an exception there ends that connection,
// not the thread. The owner passes the guard to everything that works for the connection. Audio and pacer thread.

/** Wraps a handler into one that never throws: an exception ends its connection. */
export type HandlerGuard = <Args extends readonly unknown[]>(
  handler: (...args: Args) => void,
) => (...args: Args) => void;

interface HandlerGuardOptions {
  /** Runs the work in the name of its player, so that the thread can attribute a crash. */
  readonly work: (handler: () => void) => void;
  readonly onThrown: (error: unknown) => void;
}

/** A guarded handler that calls another one of the same owner does not guard it twice. */
export function createHandlerGuard({ work, onThrown }: HandlerGuardOptions): HandlerGuard {
  // A guarded call inside a guarded call is attributed already.
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
