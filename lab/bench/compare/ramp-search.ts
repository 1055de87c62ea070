// Finds how many players a node carries: doubles the number with every step until the node fails, then searches between
// the last number that it carried and the first that it did not. Knows nothing of nodes: the result of each step is
// passed in. Pure.

/** The search is over when both ends are this close to each other, as a share of the lower one. */
const PRECISION = 0.05;

export class RampSearch {
  readonly #playersMax: number;
  #next: number;
  #held = 0;
  #broke: number | undefined;

  constructor({ start, playersMax }: { readonly start: number; readonly playersMax: number }) {
    this.#next = Math.max(1, Math.min(start, playersMax));
    this.#playersMax = playersMax;
  }

  /** Most players that were carried so far; 0: none. */
  get held(): number {
    return this.#held;
  }

  /** Fewest that were too many; undefined: it never failed. */
  get broke(): number | undefined {
    return this.#broke;
  }

  /** The number to try next; undefined when it is found. */
  get next(): number | undefined {
    if (this.#broke === undefined) return this.#held < this.#playersMax ? this.#next : undefined;
    return this.#broke - this.#held > Math.max(1, this.#held * PRECISION) ? this.#next : undefined;
  }

  /** Reports the result of the step that `next` named. */
  report(isHeld: boolean): void {
    const tried = this.#next;
    if (isHeld) this.#held = tried;
    else this.#broke = tried;
    this.#next =
      this.#broke === undefined
        ? Math.min(this.#playersMax, tried * 2)
        : Math.max(1, Math.round((this.#held + this.#broke) / 2));
  }
}
