// How many wrong passwords a network has sent, and how long its next attempt has to wait. Main thread.

import type { Clock } from "../../lib/clock.ts";
import { networkOf } from "./account.ts";

/** A /48 of IPv6 has 65,536 networks, and may send as much as so many. */
const NETWORKS_PER_SITE = 16;
/** Networks that are counted. Where all have wrong ones that are not forgiven, the rest counts as one. */
const NETWORKS_MAX = 10_000;
const REST = "all other addresses";
const SWEEP_INTERVAL_MS = 1000;

interface WrongCountsOptions {
  readonly countMax: number;
  readonly forgivenMs: number;
  /** Above the limit, time from a wrong one to the next attempt. */
  readonly delayMs: number;
  readonly clock: Clock;
}

interface WrongCount {
  readonly count: number;
  readonly atMs: number;
}

export class WrongCounts {
  readonly #options: WrongCountsOptions;
  readonly #counts = new Map<string, WrongCount>();
  #sweptAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: WrongCountsOptions) {
    this.#options = options;
  }

  /** The network that an address is counted in now: a /64 of IPv6, or its /48 where that has sent too many. */
  networkOf(address: string | undefined): string {
    const network = networkOf(address ?? "");
    if (this.#counts.size === 0) return network;
    const site = siteOf(network);
    if (site !== undefined && this.#isTooMany(site)) return site;
    return this.#counts.has(network) || this.#hasSpace() ? network : REST;
  }

  /** Until an attempt of that network may be checked; 0: now. */
  waitMs(network: string): number {
    if (!this.#isTooMany(network)) return 0;
    const atMs = this.#counts.get(network)?.atMs ?? Number.NEGATIVE_INFINITY;
    return Math.max(0, atMs + this.#options.delayMs - this.#options.clock.now());
  }

  /** Counts a wrong one, also for the /48. */
  add(network: string): void {
    const site = siteOf(network);
    for (const counted of site === undefined ? [network] : [network, site]) {
      const count = Math.min(this.#countOf(counted) + 1, this.#limitsOf(counted).countMax);
      this.#counts.set(counted, { count, atMs: this.#options.clock.now() });
    }
  }

  #isTooMany(network: string): boolean {
    return this.#countOf(network) + 1 > this.#limitsOf(network).countMax;
  }

  /** How many still count. */
  #countOf(network: string): number {
    const before = this.#counts.get(network);
    if (before === undefined) return 0;
    const passedMs = this.#options.clock.now() - before.atMs;
    return Math.max(0, before.count - passedMs / this.#limitsOf(network).forgivenMs);
  }

  #limitsOf(network: string): Pick<WrongCountsOptions, "countMax" | "forgivenMs"> {
    if (!isSite(network)) return this.#options;
    // Its networks in line, each at its rate, do not reach the limit.
    const forgivenMs = this.#options.delayMs / NETWORKS_PER_SITE;
    return { countMax: this.#options.countMax * NETWORKS_PER_SITE, forgivenMs };
  }

  #hasSpace(): boolean {
    if (this.#counts.size < NETWORKS_MAX) return true;
    const now = this.#options.clock.now();
    if (now - this.#sweptAtMs >= SWEEP_INTERVAL_MS) {
      this.#sweptAtMs = now;
      for (const network of this.#counts.keys()) if (this.#countOf(network) === 0) this.#counts.delete(network);
    }
    return this.#counts.size < NETWORKS_MAX;
  }
}

/** The /48 around a /64, as `networkOf` writes it. */
function siteOf(network: string): string | undefined {
  const end = network.lastIndexOf(":");
  return end < 0 || isSite(network) ? undefined : `${network.slice(0, end)}::/48`;
}

function isSite(network: string): boolean {
  return network.endsWith("/48");
}
