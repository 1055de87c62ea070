// BalancingIpRoutePlanner (`LoadBalance`): any free address for each request, each as likely as the others. Main
// thread.

import type { AddressChooser, ChooserOptions } from "./address-chooser.ts";
import type { AddressPool } from "./address-pool.ts";

export class BalancingIp implements AddressChooser {
  readonly className = "BalancingIpRoutePlanner";
  readonly #pool: AddressPool;

  constructor({ pool }: Pick<ChooserOptions, "pool">) {
    this.#pool = pool;
  }

  choose(): bigint | undefined {
    return this.#pool.pick();
  }

  onFailure(): void {
    // The pool no longer offers it; nothing else needs to change.
  }

  fork(pool: AddressPool): BalancingIp {
    return new BalancingIp({ pool });
  }

  details(): Readonly<Record<string, string>> {
    return {};
  }
}
