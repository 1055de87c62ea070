// Decides for each request of a thread which address it is sent from, and remembers the addresses that sites refuse.
// One per node, and none where no blocks are configured. A request whose answer does not arrive fails; it is never sent
// from the machine's own address, which the operator hides. Main thread; docs/reference/route-planner.md.

import type { RouteCommand } from "../../bridge/commands.ts";
import type { RouteEvent } from "../../bridge/events.ts";
import { toWireError } from "../../bridge/wire-error.ts";
import type { NodeConfig, RoutePlannerStrategy } from "../../config/node-config.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { type IpBlock, parseIpAddress, parseIpBlock } from "../../lib/ip-block.ts";
import type { Random } from "../../lib/random.ts";
import type { Logger } from "../../log/log.ts";
import type { RoutePlannerJson } from "../protocol/route-planner-json.ts";
import type { AddressChooser, ChooserOptions } from "./address-chooser.ts";
import { AddressPool } from "./address-pool.ts";
import { AddressSpace } from "./address-space.ts";
import { BalancingIp } from "./balancing-ip.ts";
import { NanoIp } from "./nano-ip.ts";
import { RotatingIp } from "./rotating-ip.ts";
import { RotatingNanoIp } from "./rotating-nano-ip.ts";

const LOG_INTERVAL_MS = 60_000;

const CHOOSERS: Readonly<Record<RoutePlannerStrategy, new (options: ChooserOptions) => AddressChooser>> = {
  RotateOnBan: RotatingIp,
  NanoSwitch: NanoIp,
  RotatingNanoSwitch: RotatingNanoIp,
  LoadBalance: BalancingIp,
};

interface RoutePlannerOptions {
  /** Checked, with at least one block. */
  readonly settings: NodeConfig["routePlanner"];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

type RouteRequested = Extract<RouteEvent, { readonly type: "routeRequested" }>;
type RouteFailed = Extract<RouteEvent, { readonly type: "routeFailed" }>;

/** Never waits: an answer to `routeRequested` is immediate, as addresses are only numbers until a thread binds one. */
export class RoutePlanner {
  readonly #settings: NodeConfig["routePlanner"];
  readonly #space: AddressSpace;
  readonly #pool: AddressPool;
  readonly #chooser: AddressChooser;
  readonly #logger: Logger;
  readonly #clock: Clock;
  /** Failures that have not been logged yet. */
  #unreportedFailures = 0;
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor({ settings, clock, random, logger }: RoutePlannerOptions) {
    this.#settings = settings;
    const space = new AddressSpace(settings.ipBlocks.map(toBlock));
    this.#space = space;
    const excluded = settings.excludedIps.flatMap((text) => this.#indexOf(text) ?? []);
    const addressAt = (index: bigint) => space.addressAt(index);
    this.#pool = new AddressPool({ size: space.size, excluded, addressAt, clock, random });
    this.#chooser = new CHOOSERS[settings.strategy]({ pool: this.#pool, clock, random, addressAt });
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Answers a thread's request for an address; with an error when all are blocked. */
  answer({ routeId, families, preferred }: RouteRequested): RouteCommand {
    if (!families.includes(this.#space.family)) return { type: "route", routeId, address: undefined };
    const index = this.#freeIndexOf(preferred) ?? this.#chooser.choose();
    if (index === undefined) return { type: "routeError", routeId, error: toWireError(this.#exhausted()) };
    return { type: "route", routeId, address: this.#space.addressAt(index) };
  }

  /** Bars the address for a time. */
  onFailure({ address, reason }: RouteFailed): void {
    const index = this.#indexOf(address);
    if (index === undefined) return;
    this.#pool.markFailing(index, reason);
    this.#chooser.onFailure(index);
    this.#logFailure();
  }

  /** Never fails, also before the first request. */
  status(): RoutePlannerJson {
    const { family, size } = this.#space;
    const failingAddresses = this.#pool.failing();
    const ipBlock = { type: family === 4 ? "Inet4Address" : "Inet6Address", size: String(size) } as const;
    return { class: this.#chooser.className, details: { ipBlock, failingAddresses, ...this.#chooser.details() } };
  }

  /** Removes the address from the failing ones. False when it is not an address, or not in one of the blocks. */
  free(address: string): boolean {
    const index = this.#indexOf(address);
    if (index === undefined) return false;
    this.#pool.free(index);
    return true;
  }

  /** All addresses may be used again; none fails any more. */
  freeAll(): void {
    this.#pool.freeAll();
  }

  /** The blocks, as they were configured. */
  get blocks(): readonly string[] {
    return this.#settings.ipBlocks;
  }

  /** At once the first time, then gathered: a site may refuse one request after the other. */
  #logFailure(): void {
    this.#unreportedFailures++;
    if (this.#clock.now() - this.#reportedMs < LOG_INTERVAL_MS) return;
    const fields = {
      failures: this.#unreportedFailures,
      failing: this.#pool.failingCount,
      of: String(this.#space.size),
    };
    this.#logger.warn("route planner: addresses failed and are paused", fields);
    this.#reportedMs = this.#clock.now();
    this.#unreportedFailures = 0;
  }

  #freeIndexOf(text: string | undefined): bigint | undefined {
    const index = text === undefined ? undefined : this.#indexOf(text);
    return index !== undefined && this.#pool.isFree(index) ? index : undefined;
  }

  #indexOf(text: string): bigint | undefined {
    const address = parseIpAddress(text);
    return address && this.#space.indexOf(address);
  }

  #exhausted(): NodeError {
    const failing = this.#pool.failingCount;
    return new NodeError(
      "routes-exhausted",
      `no egress address available: none of ${this.#space.size} is free, ${failing} are failing; free ` +
        "them by POST /v4/routeplanner/free/all, or configure more (lavalink.server.ratelimit.ipBlocks)",
    );
  }
}

function toBlock(text: string): IpBlock {
  const block = parseIpBlock(text);
  if (block === undefined) throw new NodeError("internal", `${text} is not an address block`);
  return block;
}
