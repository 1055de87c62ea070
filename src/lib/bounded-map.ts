// A map that removes the entry set longest ago when it is full. Has no domain knowledge.

/** As a `Map`, of which only these two are needed. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #sizeMax: number;

  /** `sizeMax` is 1 or more. */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** Leaves its age as it is. */
  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  /** Makes it the youngest. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#sizeMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }
}
