// Memory outside V8's heap that one track may use: tables, read-ahead, decoders. The limit is the same for playing and
// for probing, so that every probed track can be played. Audio and probe threads.

import { ByteBudget } from "../../lib/byte-budget.ts";
import { accountOf, type Owner } from "../../lib/owners.ts";

const LIMIT_BYTES = 64 * 1024 * 1024;
/** Ordinary tracks need a MB or two, five with FLAC or Vorbis: a few with very high demand do not end them. */
const RESERVE = { ownBytes: 8 * 1024 * 1024, leftBytes: 64 * 1024 * 1024 };

/** A share of `parent`, the memory of all tracks of the thread. `owner` is named when there is too little. */
export function createTrackMemory(owner: string, parent: ByteBudget): ByteBudget {
  return new ByteBudget({ owner, limitBytes: LIMIT_BYTES, parent, reserve: RESERVE });
}

/** Of the thread's memory, for the tracks of one account: the rest is enough for dozens of ordinary tracks of others. */
const ACCOUNT_SHARE = 7 / 8;

/** The memory of all tracks of a thread, with a limit for each account. */
export class ThreadMemory {
  readonly #all: ByteBudget;
  /** They live as long as a track of theirs. */
  readonly #ofAccount = new Map<string, WeakRef<ByteBudget>>();

  /** `name` is that of the thread in error messages. */
  constructor(name: string, limitBytes: number) {
    this.#all = new ByteBudget({ owner: name, limitBytes });
  }

  /** Bytes of all accounts. */
  get usedBytes(): number {
    return this.#all.usedBytes;
  }

  /** Memory of one more track; `name` is that of the track in error messages. */
  createTrackMemory(name: string, owner: Owner): ByteBudget {
    return createTrackMemory(name, this.#memoryOf(accountOf(owner)));
  }

  #memoryOf(account: string): ByteBudget {
    const known = this.#ofAccount.get(account)?.deref();
    if (known !== undefined) return known;
    for (const [name, reference] of this.#ofAccount) {
      if (reference.deref() === undefined) this.#ofAccount.delete(name);
    }
    const limitBytes = this.#all.limitBytes * ACCOUNT_SHARE;
    const memory = new ByteBudget({ owner: "this client", limitBytes, parent: this.#all });
    this.#ofAccount.set(account, new WeakRef(memory));
    return memory;
  }
}
