// Distinguishes a site that bans addresses from one that refuses all requests (a full station, an API without its key),
// which would use up a /24 within an hour. The machine itself is treated the same way, as one whose network is
// down refuses every address. 403 and 5xx do not mark an address: they are mostly about the link or the site. Any
// thread.

import type { Clock } from "../lib/clock.ts";
import { SharedMap } from "../lib/shared-map.ts";

/** Too Many Requests is the one status that speaks of the address; 403 is mostly about the link. */
export const BAN_STATUS = 429;
/** In this time … */
const PERIOD_MS = 60_000;
/**
 * … number of refused addresses that are trusted for a site without any answer; more if more retries are configured.
 */
const TRUSTED_MIN = 11;
/** Sites remembered, shared between the accounts that made requests to them. */
const SITES_MAX = 256;

interface Refusals {
  readonly sinceMs: number;
  /** Many inputs may be refused one address at the same time: it counts once. */
  readonly addresses: Set<string>;
}

/** One per thread: what its requests were answered. */
export class SiteRefusals {
  readonly #clock: Clock;
  readonly #trustedMax: number;
  readonly #bySite = new SharedMap<string, Refusals>(SITES_MAX);
  /** Addresses that the machine cannot use. */
  #ofMachine: Refusals | undefined;

  /** @param retriesMax per request; undefined, endless: every refusal is trusted */
  constructor(options: { readonly clock: Clock; readonly retriesMax: number | undefined }) {
    this.#clock = options.clock;
    this.#trustedMax = Math.max(TRUSTED_MIN, (options.retriesMax ?? Number.POSITIVE_INFINITY) + 1);
  }

  /** Notes that the site has refused this address to an account; true when the address is likely to be the cause. */
  note(site: string, address: string, account: string): boolean {
    let refusals = this.#current(this.#bySite.get(site));
    if (refusals === undefined) {
      refusals = this.#begin();
      this.#bySite.set(site, refusals, account);
    }
    return this.#add(refusals, address);
  }

  /** Notes that the machine cannot send from this address; true as for `note`. */
  noteUnusable(address: string): boolean {
    this.#ofMachine = this.#current(this.#ofMachine) ?? this.#begin();
    return this.#add(this.#ofMachine, address);
  }

  /** Notes that the site has answered a request, which the machine could send. */
  forget(site: string): void {
    this.#bySite.delete(site);
    this.#ofMachine = undefined;
  }

  #current(refusals: Refusals | undefined): Refusals | undefined {
    return refusals !== undefined && this.#clock.now() - refusals.sinceMs < PERIOD_MS ? refusals : undefined;
  }

  #begin(): Refusals {
    return { sinceMs: this.#clock.now(), addresses: new Set() };
  }

  #add({ addresses }: Refusals, address: string): boolean {
    if (this.#trustedMax === Number.POSITIVE_INFINITY) return true;
    if (addresses.size >= this.#trustedMax) return false;
    addresses.add(address);
    return true;
  }
}
