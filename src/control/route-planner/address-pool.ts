// What the planners choose from: the addresses of all blocks, without those that the operator excludes and those that
// fail. Main thread.

import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import { FailingAddresses } from "./failing-addresses.ts";
import { FreeIndexes } from "./free-indexes.ts";
import type { FailingAddressJson } from "./planner-status.ts";

export interface AddressPoolOptions {
  /** How many addresses there are. */
  readonly size: bigint;
  /** Numbers of those that are never used. */
  readonly excluded: readonly bigint[];
  /** How an address is written. */
  readonly addressAt: (index: bigint) => string;
  readonly clock: Clock;
  readonly random: Random;
}

export class AddressPool {
  readonly size: bigint;
  readonly #free: FreeIndexes;
  readonly #excluded: ReadonlySet<bigint>;
  readonly #failing: FailingAddresses;
  readonly #random: Random;

  constructor({ size, excluded, addressAt, clock, random }: AddressPoolOptions) {
    this.size = size;
    this.#free = new FreeIndexes(size);
    this.#excluded = new Set(excluded);
    this.#failing = new FailingAddresses({
      clock,
      addressAt,
      onFreed: (index) => this.#free.giveBack(index),
    });
    this.#random = random;
    for (const index of excluded) this.#free.take(index);
  }

  /** Neither excluded nor failing. */
  isFree(index: bigint): boolean {
    this.#failing.expire();
    return this.#free.isFree(index);
  }

  get isExhausted(): boolean {
    this.#failing.expire();
    return this.#free.freeCount === 0n;
  }

  /** Any free address, each as likely as the others; undefined when there is none. */
  pick(): bigint | undefined {
    this.#failing.expire();
    return this.#free.pick(this.#random);
  }

  /** Bars it for seven days from now. */
  markFailing(index: bigint): void {
    if (this.#excluded.has(index)) return;
    this.#free.take(index);
    this.#failing.add(index);
  }

  free(index: bigint): void {
    this.#failing.free(index);
  }

  freeAll(): void {
    this.#failing.freeAll();
  }

  get failingCount(): number {
    return this.#failing.count;
  }

  /** Those that fail, oldest first. */
  failing(): FailingAddressJson[] {
    this.#failing.expire();
    return this.#failing.list();
  }
}
