// Distinguishes a site that bans addresses from one that refuses all requests (a full station, an API without its key),
// which would use up a /24 within an hour. The machine itself is treated as a site here too, as one whose network is
// down refuses every address. 403 and 5xx do not mark an address: they are mostly about the link or the site. Any
// thread.

import type { Clock } from "../lib/clock.ts";

/** Too Many Requests is the one status that speaks of the address; 403 is mostly about the link. */
export const BAN_STATUS = 429;
/** In this time … */
const PERIOD_MS = 60_000;
/**
 * … number of refused addresses that are trusted for a site without any answer; more if more retries are configured.
 */
const TRUSTED_MIN = 11;
/** Sites remembered. */
const HOSTS_MAX = 256;

interface Refusals {
  readonly sinceMs: number;
  /** Many inputs may be refused one address at the same time: it counts once. */
  readonly addresses: Set<string>;
}

/** One per thread: what its requests were answered. */
export class SiteRefusals {
  readonly #clock: Clock;
  readonly #trustedMax: number;
  readonly #byHost = new Map<string, Refusals>();

  /** @param retriesMax per request; undefined, endless: every refusal is trusted */
  constructor(options: { readonly clock: Clock; readonly retriesMax: number | undefined }) {
    this.#clock = options.clock;
    this.#trustedMax = Math.max(TRUSTED_MIN, (options.retriesMax ?? Number.POSITIVE_INFINITY) + 1);
  }

  /** Notes that the site has refused this address; true when the address is likely to be the cause. */
  note(host: string, address: string): boolean {
    if (this.#trustedMax === Number.POSITIVE_INFINITY) return true;
    const { addresses } = this.#refusalsOf(host);
    if (addresses.size >= this.#trustedMax) return false;
    addresses.add(address);
    return true;
  }

  /** Notes that the site has answered a request. */
  forget(host: string): void {
    this.#byHost.delete(host);
  }

  #refusalsOf(host: string): Refusals {
    const nowMs = this.#clock.now();
    const known = this.#byHost.get(host);
    if (known !== undefined && nowMs - known.sinceMs < PERIOD_MS) return known;
    if (this.#byHost.size >= HOSTS_MAX) this.#byHost.clear();
    const fresh: Refusals = { sinceMs: nowMs, addresses: new Set() };
    this.#byHost.set(host, fresh);
    return fresh;
  }
}
