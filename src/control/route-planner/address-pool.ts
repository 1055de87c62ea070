// The addresses that the planners choose from: all blocks, without the addresses that the operator excludes and those
// that fail. Main thread.

import type { RouteFailure } from "../../bridge/events.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { FailingAddressJson } from "../protocol/route-planner-json.ts";
import { FailingAddresses, type FailingAddressesOptions } from "./failing-addresses.ts";
import { FreeIndexes } from "./free-indexes.ts";

/** How long addresses stay barred at a site, and how many are remembered. */
export type BanLimits = Pick<FailingAddressesOptions, "barredMs" | "countMax">;

/** At the site of a source. */
export const SOURCE_LIMITS: BanLimits = { barredMs: 7 * 24 * 60 * 60 * 1000 };

/** The machine may get the address at any moment: an interface comes up, a route is set. */
const UNUSABLE_LIMITS: BanLimits = { barredMs: 60 * 1000 };

interface AddressPoolOptions {
  /** How many addresses there are. */
  readonly size: bigint;
  /** Numbers of addresses that are never used. */
  readonly excluded: readonly bigint[];
  /** How an address is written. */
  readonly addressAt: (index: bigint) => string;
  readonly clock: Clock;
  readonly random: Random;
  /** Default: SOURCE_LIMITS. */
  readonly banLimits?: BanLimits;
}

export class AddressPool {
  readonly size: bigint;
  readonly #options: AddressPoolOptions;
  readonly #free: FreeIndexes;
  readonly #excluded: ReadonlySet<bigint>;
  readonly #banned: FailingAddresses;
  readonly #unusable: FailingAddresses;
  readonly #random: Random;

  constructor(options: AddressPoolOptions) {
    const { size, excluded, addressAt, clock, random, banLimits = SOURCE_LIMITS } = options;
    this.#options = options;
    this.size = size;
    this.#free = new FreeIndexes(size);
    this.#excluded = new Set(excluded);
    const onFreed = (index: bigint) => this.#free.release(index);
    this.#banned = new FailingAddresses({ clock, addressAt, onFreed, ...banLimits });
    this.#unusable = new FailingAddresses({ clock, addressAt, onFreed, ...UNUSABLE_LIMITS });
    this.#random = random;
    for (const index of excluded) this.#free.take(index);
  }

  /** One with the same addresses, without bans. */
  fork(banLimits: BanLimits): AddressPool {
    this.#expire();
    const fork = new AddressPool({ ...this.#options, banLimits });
    for (const index of this.#unusable.indexes) fork.markFailing(index, "unusable");
    return fork;
  }

  /** Neither excluded nor failing. */
  isFree(index: bigint): boolean {
    this.#expire();
    return this.#free.isFree(index);
  }

  get isExhausted(): boolean {
    this.#expire();
    return this.#free.freeCount === 0n;
  }

  /** Any free address, each as likely as the others; undefined when there is none. */
  pick(): bigint | undefined {
    this.#expire();
    return this.#free.pick(this.#random);
  }

  /** Bars it: for long when its site has banned it, a minute when the system cannot send from it. */
  markFailing(index: bigint, reason: RouteFailure): void {
    if (this.#excluded.has(index)) return;
    if (reason === "unusable" && this.#banned.has(index)) return;
    this.#unusable.free(index);
    this.#free.take(index);
    if (reason === "banned") this.#banned.add(index);
    else this.#unusable.add(index);
  }

  free(index: bigint): void {
    this.#banned.free(index);
    this.#unusable.free(index);
  }

  freeAll(): void {
    this.#banned.freeAll();
    this.#unusable.freeAll();
  }

  get failingCount(): number {
    return this.#banned.count + this.#unusable.count;
  }

  /** The failing addresses, oldest first. */
  failing(): FailingAddressJson[] {
    this.#expire();
    const all = [...this.#banned.list(), ...this.#unusable.list()];
    return all.sort((a, b) => a.failingTimestamp - b.failingTimestamp);
  }

  #expire(): void {
    this.#banned.expire();
    this.#unusable.expire();
  }
}
