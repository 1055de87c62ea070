// Whose a piece of work is, so that what all share (permits, queues, memory) is shared out between those who ask. A
// leaf but for counts.ts, on all threads.

import type { Counts } from "./counts.ts";

/**
 * Who asked for work, from the coarse to the fine: the account (a key, or the network of an address), then a client of
 * that account. Texts of different levels differ.
 */
export type Owner = readonly string[];

/** With every request for work that takes its share of what all use. */
export interface WorkOptions {
  readonly owner: Owner;
  readonly signal: AbortSignal;
}

export function accountOf([account = ""]: Owner): string {
  return account;
}

/** For a track that is about to play: the work for it does not wait behind the loads of its client. */
export function playingOwnerOf(owner: Owner): Owner {
  return [accountOf(owner), `${accountOf(owner)}, links`];
}

/** By how much the count of `owner` exceeds that of `other`, at the first level at which they differ. */
export function moreThan(owner: Owner, other: Owner, counts: Counts): number {
  for (const [level, name] of owner.entries()) {
    const otherName = other[level];
    const more = counts.of(name) - (otherName === undefined ? 0 : counts.of(otherName));
    if (more !== 0) return more;
  }
  return 0;
}

/**
 * The owners of one piece of work: the one that asked for it, and all that have joined since, to share its result. Work
 * that is shared must not wait as long as the one who asked first deserves.
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

  /** Those of another piece of work join, with those that will join that. Returns a function by which they leave. */
  join(other: Owners): () => void {
    this.#own.push(other);
    for (const listener of [...this.#listeners]) listener();
    return () => {
      const index = this.#own.lastIndexOf(other);
      if (index >= 0) this.#own.splice(index, 1);
    };
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
