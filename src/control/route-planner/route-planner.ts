// Decides for each request of a thread which address it is sent from, and remembers the addresses that each site bans.
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
import type { FailingAddressJson, RoutePlannerJson } from "../protocol/route-planner-json.ts";
import type { AddressChooser, ChooserOptions } from "./address-chooser.ts";
import { AddressPool } from "./address-pool.ts";
import { AddressSpace } from "./address-space.ts";
import { BalancingIp } from "./balancing-ip.ts";
import { NanoIp } from "./nano-ip.ts";
import { RotatingIp } from "./rotating-ip.ts";
import { RotatingNanoIp } from "./rotating-nano-ip.ts";
import { SitePools, type SourceHosts } from "./site-pools.ts";

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
  readonly #sites: SitePools;
  #sourceHosts: () => readonly SourceHosts[] = () => [];
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
    const pool = new AddressPool({ size: space.size, excluded, addressAt, clock, random });
    const chooser = new CHOOSERS[settings.strategy]({ pool, clock, random, addressAt });
    this.#sites = new SitePools({ pool, chooser }, () => this.#routedHosts());
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The hosts of all sources. Set once, before any request; without it, all sites are those of nobody. */
  set sourceHosts(sourceHosts: () => readonly SourceHosts[]) {
    this.#sourceHosts = sourceHosts;
  }

  /** Answers a thread's request for an address; with an error when all are blocked. */
  answer({ routeId, families, site, preferred }: RouteRequested): RouteCommand {
    if (!families.includes(this.#space.family)) return { type: "route", routeId, address: undefined };
    const { pool, chooser } = this.#sites.of(site);
    const index = this.#freeIndexOf(preferred, pool) ?? chooser.choose();
    if (index === undefined) return { type: "routeError", routeId, error: toWireError(this.#exhausted(pool)) };
    return { type: "route", routeId, address: this.#space.addressAt(index) };
  }

  /** Bars the address for a time: for the site that has banned it, or for all where the machine cannot use it. */
  onFailure(failed: RouteFailed): void {
    const index = this.#indexOf(failed.address);
    if (index === undefined) return;
    if (failed.reason === "banned") this.#sites.ban(index, failed);
    else this.#markUnusable(index);
    this.#logFailure();
  }

  /** Never fails, also before the first request. */
  status(): RoutePlannerJson {
    const { family, size } = this.#space;
    const ipBlock = { type: family === 4 ? "Inet4Address" : "Inet6Address", size: String(size) } as const;
    const { chooser } = this.#sites.shown;
    return { class: chooser.className, details: { ipBlock, failingAddresses: this.#failing(), ...chooser.details() } };
  }

  /** Removes the address from the failing ones. False when it is not an address, or not in one of the blocks. */
  free(address: string): boolean {
    const index = this.#indexOf(address);
    if (index === undefined) return false;
    for (const { pool } of this.#sites.all) pool.free(index);
    return true;
  }

  /** All addresses may be used again; none fails any more. */
  freeAll(): void {
    for (const { pool } of this.#sites.all) pool.freeAll();
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
      failing: this.#failing().length,
      of: String(this.#space.size),
    };
    this.#logger.warn("route planner: addresses failed and are paused", fields);
    this.#reportedMs = this.#clock.now();
    this.#unreportedFailures = 0;
  }

  #freeIndexOf(text: string | undefined, pool: AddressPool): bigint | undefined {
    const index = text === undefined ? undefined : this.#indexOf(text);
    return index !== undefined && pool.isFree(index) ? index : undefined;
  }

  #markUnusable(index: bigint): void {
    for (const { pool, chooser } of this.#sites.all) {
      pool.markFailing(index, "unusable");
      chooser.onFailure(index);
    }
  }

  /** At any site, each address once, by the time it failed last. */
  #failing(): FailingAddressJson[] {
    const latest = new Map<string, FailingAddressJson>();
    for (const failing of this.#sites.all.flatMap(({ pool }) => pool.failing())) {
      const known = latest.get(failing.failingAddress);
      if (known === undefined || known.failingTimestamp < failing.failingTimestamp) {
        latest.set(failing.failingAddress, failing);
      }
    }
    return [...latest.values()].sort((a, b) => a.failingTimestamp - b.failingTimestamp);
  }

  /** Of the sources that use the blocks. */
  #routedHosts(): readonly SourceHosts[] {
    return this.#sourceHosts().filter(({ name }) => this.#settings.sources.includes(name.toLowerCase()));
  }

  #indexOf(text: string): bigint | undefined {
    const address = parseIpAddress(text);
    return address && this.#space.indexOf(address);
  }

  #exhausted({ failingCount }: AddressPool): NodeError {
    return new NodeError(
      "routes-exhausted",
      `no egress address available: none of ${this.#space.size} is free, ${failingCount} are failing; free ` +
        "them by POST /v4/routeplanner/free/all, or configure more (lavalink.server.ratelimit.ipBlocks)",
    );
  }
}

function toBlock(text: string): IpBlock {
  const block = parseIpBlock(text);
  if (block === undefined) throw new NodeError("internal", `${text} is not an address block`);
  return block;
}
