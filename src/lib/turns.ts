// What waits, handed out to accounts in turn: one of each account, and those of one account in the order of their
// arrival. So an account with little waits for little, whatever others have. A leaf without domain knowledge.

export class Turns<Item> {
  /** By account, the one whose turn is next first. None is empty. */
  readonly #ofAccount = new Map<string, Item[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: Item, account: string): void {
    const own = this.#ofAccount.get(account);
    if (own === undefined) this.#ofAccount.set(account, [item]);
    else own.push(item);
    this.#length += 1;
  }

  /** Takes the next item; undefined when none waits. */
  shift(): Item | undefined {
    for (const [account, own] of this.#ofAccount) {
      const first = own.shift();
      this.#ofAccount.delete(account);
      if (own.length > 0) this.#ofAccount.set(account, own);
      this.#length -= 1;
      return first;
    }
    return undefined;
  }
}
