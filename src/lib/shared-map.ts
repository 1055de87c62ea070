// Map with a bounded number of entries that accounts share: a new one replaces an old one of the account with most, so
// that nobody's entries are pushed out by somebody else's flood. A leaf but for counts.ts and owners.ts, on all threads.

import { Counts } from "./counts.ts";

interface Entry<Value> {
  readonly account: string;
  readonly value: Value;
}

export class SharedMap<Key, Value> {
  readonly #sizeMax: number;
  /** The one used longest ago first. */
  readonly #entries = new Map<Key, Entry<Value>>();
  readonly #ofAccount = new Counts();

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Counts as use. */
  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** The entry becomes that account's. */
  set(key: Key, value: Value, account: string): void {
    this.delete(key);
    if (this.#entries.size >= this.#sizeMax) this.#evict();
    this.#entries.set(key, { account, value });
    this.#ofAccount.addEach([account]);
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#ofAccount.removeEach([entry.account]);
  }

  *values(): IterableIterator<Value> {
    for (const { value } of this.#entries.values()) yield value;
  }

  #evict(): void {
    const greediest = this.#ofAccount.largest;
    for (const [key, { account }] of this.#entries) {
      if (account !== greediest) continue;
      this.delete(key);
      return;
    }
  }
}
