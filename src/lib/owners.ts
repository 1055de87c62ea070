// Whose a piece of work is, so that what all share (permits, queues, memory) is shared out between those who ask. A
// leaf, on all threads.

/**
 * Who asked for work, from the coarse to the fine: the account (a key, or the network of an address), then a client of
 * that account. Texts of different levels differ.
 */
export type Owner = readonly string[];

/**
 * The owners of one piece of work: whoever asked for it, and all that have joined since, to share its result. Work that
 * is shared must not wait as long as the one who asked first deserves.
 */
export class Owners {
  readonly #own: (Owner | Owners)[];
  readonly #listeners = new Set<() => void>();

  constructor(...own: readonly (Owner | Owners)[]) {
    this.#own = [...own];
  }

  /** All of them at this moment. Work that nobody asked for has none. */
  get all(): readonly Owner[] {
    return this.#own.flatMap((own) => (own instanceof Owners ? own.all : [own]));
  }

  /** Those of another piece of work join, with those that will join that. */
  join(other: Owners): void {
    this.#own.push(other);
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls `listener` when some have joined. Returns a function that stops it. */
  onJoined(listener: () => void): () => void {
    this.#listeners.add(listener);
    const parents = this.#own.filter((own) => own instanceof Owners);
    const stops = parents.map((parent) => parent.onJoined(listener));
    return () => {
      this.#listeners.delete(listener);
      for (const stop of stops) stop();
    };
  }
}
