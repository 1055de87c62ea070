// RotatingIpRoutePlanner (`RotateOnBan`): keeps one address until it fails, then goes a little further. Main thread.

import type { Random } from "../../lib/random.ts";
import type { AddressChooser, ChooserOptions } from "./address-chooser.ts";
import type { AddressPool } from "./address-pool.ts";

/**
 * Up to this size the next address is the neighbouring one; beyond, one some steps away, as sites block neighbours too.
 */
const NEIGHBOUR_SIZE_MAX = 128n;
const STEP_MIN = 10;
const STEP_MAX = 19;
/** Steps to blocked addresses before any free one is taken: a whole cycle where the neighbour is next. */
const MISSES_MAX = 128;

export class RotatingIp implements AddressChooser {
  readonly className = "RotatingIpRoutePlanner";
  readonly #options: ChooserOptions;
  readonly #pool: AddressPool;
  readonly #random: Random;
  readonly #addressAt: (index: bigint) => string;
  #current: bigint | undefined;
  #lastFailed: bigint | undefined;
  #isSpent = false;
  #failureCount = 0n;

  constructor(options: ChooserOptions) {
    const { pool, random, addressAt } = options;
    this.#options = options;
    this.#pool = pool;
    this.#random = random;
    this.#addressAt = addressAt;
  }

  choose(): bigint | undefined {
    if (this.#pool.isExhausted) return undefined;
    if (this.#current === undefined || this.#isSpent) {
      this.#current = this.#next(this.#current ?? -1n);
      this.#isSpent = false;
    }
    return this.#current;
  }

  /** A late failure of an address that was left already counts, but does not cost the one in use. */
  onFailure(index: bigint): void {
    if (index === this.#current) this.#isSpent = true;
    if (index === this.#lastFailed) return;
    this.#lastFailed = index;
    this.#failureCount++;
  }

  fork(pool: AddressPool): RotatingIp {
    const fork = new RotatingIp({ ...this.#options, pool });
    fork.#current = this.#current;
    fork.#lastFailed = this.#lastFailed;
    fork.#isSpent = this.#isSpent;
    fork.#failureCount = this.#failureCount;
    return fork;
  }

  details(): Readonly<Record<string, string>> {
    const current = this.#current;
    return {
      rotateIndex: String(this.#failureCount),
      // Counted from 1: 0 is none yet.
      ipIndex: String((current ?? -1n) + 1n),
      currentAddress: current === undefined ? "" : `/${this.#addressAt(current)}`,
    };
  }

  #next(from: bigint): bigint | undefined {
    let index = from;
    for (let misses = 0; misses < MISSES_MAX; misses++) {
      index = (index + this.#step()) % this.#pool.size;
      if (this.#pool.isFree(index)) return index;
    }
    return this.#pool.pick();
  }

  #step(): bigint {
    if (this.#pool.size <= NEIGHBOUR_SIZE_MAX) return 1n;
    return BigInt(STEP_MIN + Math.floor(this.#random.unit() * (STEP_MAX - STEP_MIN + 1)));
  }
}
