// NanoIpRoutePlanner (`NanoSwitch`): the address is as far into the blocks as nanoseconds have passed since the start.
// With at least 2^64 addresses, none is used twice within 584 years. Main thread.

import type { AddressChooser, ChooserOptions } from "./address-chooser.ts";
import type { AddressPool } from "./address-pool.ts";
import { NanoClock } from "./nano-clock.ts";

export class NanoIp implements AddressChooser {
  readonly className = "NanoIpRoutePlanner";
  readonly #pool: AddressPool;
  readonly #options: ChooserOptions;
  readonly #nanos: NanoClock;

  constructor(options: ChooserOptions, nanos = new NanoClock(options.clock)) {
    this.#options = options;
    this.#pool = options.pool;
    this.#nanos = nanos;
  }

  /** Barred addresses are few and lie behind, so it is nearly always the first. */
  choose(): bigint {
    for (;;) {
      const index = this.#nanos.take() % this.#pool.size;
      if (this.#pool.isFree(index)) return index;
    }
  }

  onFailure(): void {
    // The next address is another one anyway.
  }

  /** None of both uses an address that the other has used. */
  fork(pool: AddressPool): NanoIp {
    return new NanoIp({ ...this.#options, pool }, this.#nanos);
  }

  details(): Readonly<Record<string, string>> {
    return { currentAddressIndex: String(this.#nanos.peek() % this.#pool.size) };
  }
}
