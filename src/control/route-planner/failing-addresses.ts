// Addresses that cannot be used for a time, by their number, with when they failed. They come back by themselves. Main
// thread.

import type { Clock } from "../../lib/clock.ts";
import type { FailingAddressJson } from "../protocol/route-planner-json.ts";
import { failingAddressToJson } from "./failing-address.ts";

/** Some megabytes, and a status that is made in some milliseconds. */
const COUNT_MAX = 10_000;

/**
 * An entry of a linked list in the order of their times. A Map alone is slow at finding its oldest entry after many
 * insertions and removals.
 */
interface Failure {
  readonly index: bigint;
  /** On the monotonic clock: a clock that is set must not free them. */
  readonly atMs: number;
  /** Created at the failure, so that a status with thousands of addresses is ready immediately. */
  readonly json: FailingAddressJson;
  earlier: Failure | undefined;
  later: Failure | undefined;
}

export interface FailingAddressesOptions {
  readonly clock: Clock;
  /** How long each stays out. */
  readonly barredMs: number;
  /** One more replaces the address that failed longest ago, which is the most likely to work again. Default: 10,000. */
  readonly countMax?: number;
  /** How an address is written. */
  readonly addressAt: (index: bigint) => string;
  /** Called for each that has come back, for whatever reason. */
  readonly onFreed: (index: bigint) => void;
}

export class FailingAddresses {
  readonly #clock: Clock;
  readonly #barredMs: number;
  readonly #countMax: number;
  readonly #addressAt: (index: bigint) => string;
  readonly #onFreed: (index: bigint) => void;
  readonly #failures = new Map<bigint, Failure>();
  #oldest: Failure | undefined;
  #newest: Failure | undefined;

  constructor({ clock, barredMs, countMax = COUNT_MAX, addressAt, onFreed }: FailingAddressesOptions) {
    this.#clock = clock;
    this.#barredMs = barredMs;
    this.#countMax = countMax;
    this.#addressAt = addressAt;
    this.#onFreed = onFreed;
  }

  /** Counts from now, also when it is failing already. */
  add(index: bigint): void {
    this.#remove(index);
    const json = failingAddressToJson(this.#addressAt(index), this.#clock.epochMs());
    const failure: Failure = { index, atMs: this.#clock.now(), json, earlier: this.#newest, later: undefined };
    if (this.#newest === undefined) this.#oldest = failure;
    else this.#newest.later = failure;
    this.#newest = failure;
    this.#failures.set(index, failure);
    if (this.#failures.size > this.#countMax && this.#oldest !== undefined) this.free(this.#oldest.index);
  }

  free(index: bigint): void {
    if (this.#remove(index)) this.#onFreed(index);
  }

  freeAll(): void {
    for (const index of this.indexes) this.free(index);
  }

  /**
   * Frees addresses whose time is over. Its cost is proportional to their number, so it may run before every choice.
   */
  expire(): void {
    const nowMs = this.#clock.now();
    while (this.#oldest !== undefined && nowMs - this.#oldest.atMs >= this.#barredMs) this.free(this.#oldest.index);
  }

  has(index: bigint): boolean {
    return this.#failures.has(index);
  }

  get count(): number {
    return this.#failures.size;
  }

  /** Their numbers. */
  get indexes(): readonly bigint[] {
    return [...this.#failures.keys()];
  }

  /** Oldest first. */
  list(): FailingAddressJson[] {
    const list: FailingAddressJson[] = [];
    for (let failure = this.#oldest; failure !== undefined; failure = failure.later) list.push(failure.json);
    return list;
  }

  #remove(index: bigint): boolean {
    const failure = this.#failures.get(index);
    if (failure === undefined) return false;
    this.#failures.delete(index);
    if (failure.earlier === undefined) this.#oldest = failure.later;
    else failure.earlier.later = failure.later;
    if (failure.later === undefined) this.#newest = failure.earlier;
    else failure.later.earlier = failure.earlier;
    return true;
  }
}
