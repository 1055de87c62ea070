// The addresses as each site sees them: a site that bans some bars them for its own requests only. Sites of the
// operator's sources are remembered apart from all others, whose number is a stranger's choice. Main thread.

import type { RouteEvent } from "../../bridge/events.ts";
import { SharedMap } from "../../lib/shared-map.ts";
import type { AddressChooser } from "./address-chooser.ts";
import { type AddressPool, type BanLimits, SOURCE_LIMITS } from "./address-pool.ts";

/** At any other site. */
const OTHER_LIMITS: BanLimits = { barredMs: 60 * 60 * 1000, countMax: 250 };
/** Other sites with bans. */
const OTHERS_MAX = 64;

/** Takes the place of the host, and of the source, where there is none: the node's own choice, not a stranger's. */
const NO_HOST = "";

/** Hosts of a source: `example.org` stands for all names below it, too. */
export interface SourceHosts {
  readonly name: string;
  readonly hosts: readonly string[];
}

type RouteFailed = Extract<RouteEvent, { readonly type: "routeFailed" }>;

export interface SitePool {
  readonly pool: AddressPool;
  readonly chooser: AddressChooser;
}

export class SitePools {
  /** For all sites without bans. */
  readonly #usual: SitePool;
  readonly #sources: () => readonly SourceHosts[];
  /** By the name of the source. */
  readonly #ofSources = new Map<string, SitePool>();
  /** By host and port. */
  readonly #ofOthers = new SharedMap<string, SitePool>(OTHERS_MAX);
  #lastBanned: { readonly site: SitePool; readonly isOfSource: boolean } | undefined;

  constructor(usual: SitePool, sources: () => readonly SourceHosts[]) {
    this.#usual = usual;
    this.#sources = sources;
  }

  /** The pool for requests to this host (with port); without one, for requests to no site in particular. */
  of(host = NO_HOST): SitePool {
    const source = this.#sourceOf(host);
    const site = source === undefined ? this.#ofOthers.get(host) : this.#ofSources.get(source);
    return site ?? this.#usual;
  }

  /** The site has banned that address. Its bans count for `account` where the site is of no source. */
  ban(index: bigint, { site: host = NO_HOST, account = "" }: Pick<RouteFailed, "site" | "account">): void {
    const source = this.#sourceOf(host);
    let site = this.of(host);
    if (site === this.#usual) {
      site = this.#fork(source === undefined ? OTHER_LIMITS : SOURCE_LIMITS);
      if (source === undefined) this.#ofOthers.set(host, site, account);
      else this.#ofSources.set(source, site);
    }
    site.pool.markFailing(index, "banned");
    site.chooser.onFailure(index);
    const isOfSource = source !== undefined;
    if (isOfSource || this.#lastBanned?.isOfSource !== true) this.#lastBanned = { site, isOfSource };
  }

  get all(): readonly SitePool[] {
    return [this.#usual, ...this.#ofSources.values(), ...this.#ofOthers.values()];
  }

  /** The one whose state is worth showing: where an address was banned last, a source's before any other. */
  get shown(): SitePool {
    return this.#lastBanned?.site ?? this.#usual;
  }

  #fork(limits: BanLimits): SitePool {
    const pool = this.#usual.pool.fork(limits);
    return { pool, chooser: this.#usual.chooser.fork(pool) };
  }

  #sourceOf(host: string): string | undefined {
    if (host === NO_HOST) return NO_HOST;
    const name = host.replace(/:\d+$/, "").toLowerCase();
    return this.#sources().find(({ hosts }) => hosts.some((own) => isWithin(name, own)))?.name;
  }
}

function isWithin(name: string, own: string): boolean {
  const host = own.replace(/^\*\./, "").toLowerCase();
  return name === host || name.endsWith(`.${host}`);
}
