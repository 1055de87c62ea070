// Counts what is kept of something, bytes or pieces, against a limit, and within a larger budget against that one's too: so
// that one client cannot use up what is there for all. A leaf without domain knowledge.

/** The last part of a budget is kept for those within it that have taken little so far. */
const RESERVED_SHARE = 0.25;
/** What counts as little: this share of the inner budget. */
const LITTLE_SHARE = 0.0625;

export class Budget {
  readonly limit: number;
  readonly #parent: Budget | undefined;
  #used = 0;

  constructor(limit: number, parent?: Budget) {
    this.limit = limit;
    this.#parent = parent;
  }

  get used(): number {
    return this.#used;
  }

  /** Takes `amount`, or nothing and returns false when it is not there. */
  take(amount: number): boolean {
    if (!this.#hasRoom(amount)) return false;
    this.takeAnyway(amount);
    return true;
  }

  /** Takes `amount` also beyond the limit: for what is there already and cannot be refused. */
  takeAnyway(amount: number): void {
    this.#used += amount;
    this.#parent?.takeAnyway(amount);
  }

  giveBack(amount: number): void {
    this.#used -= amount;
    this.#parent?.giveBack(amount);
  }

  #hasRoom(amount: number): boolean {
    if (this.#used + amount > this.limit) return false;
    const parent = this.#parent;
    if (parent === undefined) return true;
    const isLittle = this.#used + amount <= this.limit * LITTLE_SHARE;
    return parent.#used + amount <= parent.limit * (isLittle ? 1 : 1 - RESERVED_SHARE) && parent.#hasRoom(amount);
  }
}
