// The queue of those that wait for their next stretch on a thread: one at a time, with timers and sockets in between,
// so that many tracks that read at once hold up nobody's packets longer than one does. One per audio or look-up thread.

export interface ThreadTurnsOptions {
  /**
   * Who has used the thread least comes first, so that what is short is over soon, whatever else there is. For work
   * that is asked for once: a track that has played for hours would wait for ever behind newer ones. Default: first
   * come, first served.
   */
  readonly isLeastUsedFirst?: boolean;
}

interface Waiting {
  readonly usedMs: number;
  readonly start: () => void;
}

/** Its queue is no longer than there are tracks on the thread: each waits for one turn at a time. */
export class ThreadTurns {
  readonly #isLeastUsedFirst: boolean;
  readonly #waiting: Waiting[] = [];

  constructor({ isLeastUsedFirst = false }: ThreadTurnsOptions = {}) {
    this.#isLeastUsedFirst = isLeastUsedFirst;
  }

  /** Resolves when it is one's turn. `usedMs` is what one has used of the thread so far. */
  next(usedMs = 0): Promise<void> {
    return new Promise((start) => {
      this.#waiting.push({ usedMs, start });
      if (this.#waiting.length === 1) setImmediate(() => this.#serve());
    });
  }

  #serve(): void {
    this.#take()?.start();
    if (this.#waiting.length > 0) setImmediate(() => this.#serve());
  }

  #take(): Waiting | undefined {
    if (!this.#isLeastUsedFirst) return this.#waiting.shift();
    let least = 0;
    for (const [index, { usedMs }] of this.#waiting.entries()) {
      if (usedMs < (this.#waiting[least]?.usedMs ?? 0)) least = index;
    }
    return this.#waiting.splice(least, 1)[0];
  }
}
