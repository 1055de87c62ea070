// How many there are of each name. A leaf, on all threads.

export class Counts {
  readonly #counts = new Map<string, number>();

  /** 0 for a name that is unknown. */
  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  addEach(names: Iterable<string>, by = 1): void {
    for (const name of names) this.#counts.set(name, this.of(name) + by);
  }

  /** Names without any are forgotten. */
  removeEach(names: Iterable<string>): void {
    for (const name of names) {
      const count = this.of(name) - 1;
      if (count > 0) this.#counts.set(name, count);
      else this.#counts.delete(name);
    }
  }

  /** The first of those with the highest count. */
  get largest(): string | undefined {
    let largest: string | undefined;
    let most = 0;
    for (const [name, count] of this.#counts) {
      if (count <= most) continue;
      largest = name;
      most = count;
    }
    return largest;
  }
}
