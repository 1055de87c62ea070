// The one interface of the four planners of the protocol (protocol-v4.md section 3.8). They see addresses as numbers
// from 0 to the pool's size - 1. Main thread.

import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { PlannerClassName } from "../protocol/route-planner-json.ts";
import type { AddressPool } from "./address-pool.ts";

export interface AddressChooser {
  /** Name of the planner, as the status shows it. */
  readonly className: PlannerClassName;
  /**
   * The address to send the next request from; undefined when none is free. Bounded, and fast for blocks of any size.
   */
  choose(): bigint | undefined;
  /** A request from `index` has failed because of the address; the pool knows already. */
  onFailure(index: bigint): void;
  /** One that goes on from here in that pool: other requests leave this one where it is. */
  fork(pool: AddressPool): AddressChooser;
  /** Fields of the status in addition to blocks and failing addresses. */
  details(): Readonly<Record<string, string>>;
}

export interface ChooserOptions {
  readonly pool: AddressPool;
  readonly clock: Clock;
  readonly random: Random;
  /** How an address is written. */
  readonly addressAt: (index: bigint) => string;
}
