// RotatingNanoIpRoutePlanner (`RotatingNanoSwitch`): as NanoIp, within one /64 of IPv6; when an address of it fails,
// the next /64 is entered and its nanoseconds count from 0. Sites bar whole /64s. Main thread.

import { IPV6_INTERFACE_BITS } from "../../lib/ip-block.ts";
import type { AddressChooser, ChooserOptions } from "./address-chooser.ts";
import type { AddressPool } from "./address-pool.ts";
import { NanoClock } from "./nano-clock.ts";

const SUBNET_SIZE = 1n << IPV6_INTERFACE_BITS;

export class RotatingNanoIp implements AddressChooser {
  readonly className = "RotatingNanoIpRoutePlanner";
  readonly #pool: AddressPool;
  readonly #options: ChooserOptions;
  readonly #nanos: NanoClock;
  readonly #subnetCount: bigint;
  #subnet = 0n;

  /** The pool's blocks are all a /64 or larger: the configuration sees to that. */
  constructor(options: ChooserOptions, nanos = new NanoClock(options.clock)) {
    this.#options = options;
    this.#pool = options.pool;
    this.#nanos = nanos;
    this.#subnetCount = options.pool.size >> IPV6_INTERFACE_BITS;
  }

  choose(): bigint {
    for (;;) {
      const index = (this.#subnet << IPV6_INTERFACE_BITS) + (this.#nanos.take() % SUBNET_SIZE);
      if (this.#pool.isFree(index)) return index;
    }
  }

  /** Several concurrent requests leave a /64 once. */
  onFailure(index: bigint): void {
    if (index >> IPV6_INTERFACE_BITS !== this.#subnet) return;
    this.#subnet = (this.#subnet + 1n) % this.#subnetCount;
    this.#nanos.restart();
  }

  fork(pool: AddressPool): RotatingNanoIp {
    const fork = new RotatingNanoIp({ ...this.#options, pool }, this.#nanos.fork());
    fork.#subnet = this.#subnet;
    return fork;
  }

  details(): Readonly<Record<string, string>> {
    return {
      blockIndex: String(this.#subnet),
      currentAddressIndex: String(this.#nanos.peek() % SUBNET_SIZE),
    };
  }
}
