// The queue of those that wait for their next stretch on a thread: one at a time, with timers and sockets in between, so that
// many tracks that read at once hold up nobody's packets longer than one does. One per audio or look-up thread.

export class ThreadTurns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is one's turn. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#serve());
    });
  }

  #serve(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(() => this.#serve());
  }
}
