// Delays addresses that send wrong passwords. Main thread; one instance for each place that accepts a password.

import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { networkOf } from "./account.ts";
import { Tally } from "./tally.ts";

/** Bound of each of the two sets of addresses; one more removes the oldest. */
const ADDRESSES_MAX = 10_000;

interface WrongCount {
  readonly count: number;
  readonly atMs: number;
}

interface FailedLoginsOptions {
  /** So many of one address may be wrong at once. */
  readonly countMax: number;
  /** How long until one of them is forgiven. */
  readonly forgivenMs: number;
  /**
   * How long an address stays trusted after a valid credential: valid credentials from it are always accepted. 0:
   * never.
   */
  readonly trustedMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For the log, where there are too many. */
  readonly message: string;
}

/** Counts by address; the network of an IPv6 address is one. */
export class FailedLogins {
  readonly #options: FailedLoginsOptions;
  readonly #wrong = new BoundedMap<string, WrongCount>(ADDRESSES_MAX);
  /** By address, when it has shown something right. */
  readonly #right = new BoundedMap<string, number>(ADDRESSES_MAX);
  readonly #refusals: Tally;

  constructor(options: FailedLoginsOptions) {
    this.#options = options;
    this.#refusals = new Tally(options, options.message);
  }

  /**
   * Runs `check` on the credential of the address; undefined means it is wrong. "refused": there were too many wrong
   * ones before, and this one was not checked, or is wrong too.
   */
  try<Found>(address: string | undefined, check: () => Found | undefined): Found | "wrong" | "refused" {
    const network = networkOf(address ?? "");
    const count = this.#wrongCount(network) + 1;
    const isTooMany = count > this.#options.countMax;
    if (isTooMany && !this.#isTrusted(network)) return this.#refuse(network);
    const found = check();
    const now = this.#options.clock.now();
    if (found !== undefined) {
      this.#right.set(network, now);
      return found;
    }
    if (isTooMany) return this.#refuse(network);
    this.#wrong.set(network, { count, atMs: now });
    return "wrong";
  }

  #refuse(network: string): "refused" {
    this.#refusals.count({ address: network });
    return "refused";
  }

  #isTrusted(network: string): boolean {
    const atMs = this.#right.get(network);
    return atMs !== undefined && this.#options.clock.now() - atMs < this.#options.trustedMs;
  }

  /** How many wrong ones still count. */
  #wrongCount(network: string): number {
    const before = this.#wrong.get(network);
    if (before === undefined) return 0;
    return Math.max(0, before.count - (this.#options.clock.now() - before.atMs) / this.#options.forgivenMs);
  }
}
