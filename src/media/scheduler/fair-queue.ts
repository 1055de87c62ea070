// What waits for the thread, one queue per owner: next is whatever belongs to the owner that has used the least of the
// thread lately, so that an owner with much work delays itself only. Accounts are compared first, then the clients of
// one account. Audio thread; has no domain knowledge.

import { accountOf, type Owner } from "../../lib/owners.ts";

/** What was used longer ago counts half. Less than the look-ahead: nobody may hold the thread for as long as that. */
const HALF_LIFE_MS = 50;
/** An owner that has used less is forgotten while nothing of it waits. */
const FORGOTTEN_MS = 0.01;

interface Usage {
  usedMs: number;
}

interface Line<Item> {
  readonly account: Usage;
  readonly client: Usage;
  /** In the order of their arrival. */
  readonly items: Item[];
}

export class FairQueue<Item> {
  readonly #isBefore: ((item: Item, other: Item) => boolean) | undefined;
  readonly #accounts = new Map<string, Usage>();
  /** By client, whose name contains its account's. */
  readonly #lines = new Map<string, Line<Item>>();
  #length = 0;
  #halvedAtMs = 0;

  /** `isBefore`: which of an owner's own items is next, unless the first that has come. */
  constructor(isBefore?: (item: Item, other: Item) => boolean) {
    this.#isBefore = isBefore;
  }

  get length(): number {
    return this.#length;
  }

  push(item: Item, owner: Owner): void {
    this.#lineOf(owner).items.push(item);
    this.#length += 1;
  }

  /** Takes the next item; undefined when none waits. */
  shift(): Item | undefined {
    if (this.#length === 0) return undefined;
    let next: Line<Item> | undefined;
    for (const line of this.#lines.values()) {
      if (line.items.length > 0 && (next === undefined || hasUsedLess(line, next))) next = line;
    }
    this.#length -= 1;
    return next === undefined ? undefined : this.#takeFrom(next.items);
  }

  #takeFrom(items: Item[]): Item | undefined {
    const isBefore = this.#isBefore;
    if (isBefore === undefined) return items.shift();
    let first = 0;
    for (let index = 1; index < items.length; index++) if (isBefore(items[index]!, items[first]!)) first = index;
    return items.splice(first, 1)[0];
  }

  /** `owner` has used the thread for this long, until `nowMs`. */
  addUsedMs(owner: Owner, usedMs: number, nowMs: number): void {
    if (nowMs - this.#halvedAtMs >= HALF_LIFE_MS) this.#halve(nowMs);
    const { account, client } = this.#lineOf(owner);
    account.usedMs += usedMs;
    client.usedMs += usedMs;
  }

  some(test: (item: Item) => boolean): boolean {
    if (this.#length === 0) return false;
    for (const { items } of this.#lines.values()) if (items.some(test)) return true;
    return false;
  }

  #lineOf(owner: Owner): Line<Item> {
    const name = owner.at(-1) ?? "";
    const known = this.#lines.get(name);
    if (known !== undefined) return known;
    const account = this.#accounts.get(accountOf(owner)) ?? { usedMs: 0 };
    this.#accounts.set(accountOf(owner), account);
    const line: Line<Item> = { account, client: { usedMs: 0 }, items: [] };
    this.#lines.set(name, line);
    return line;
  }

  #halve(nowMs: number): void {
    const factor = 0.5 ** Math.floor((nowMs - this.#halvedAtMs) / HALF_LIFE_MS);
    this.#halvedAtMs = nowMs;
    const inUse = new Set<Usage>();
    for (const [name, { account, client, items }] of this.#lines) {
      client.usedMs *= factor;
      if (client.usedMs < FORGOTTEN_MS && items.length === 0) this.#lines.delete(name);
      else inUse.add(account);
    }
    for (const [name, account] of this.#accounts) {
      account.usedMs *= factor;
      if (account.usedMs < FORGOTTEN_MS && !inUse.has(account)) this.#accounts.delete(name);
    }
  }
}

function hasUsedLess<Item>(line: Line<Item>, other: Line<Item>): boolean {
  if (line.account === other.account) return line.client.usedMs < other.client.usedMs;
  return line.account.usedMs < other.account.usedMs;
}
