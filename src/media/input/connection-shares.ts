// Limits the connections per site, per account and in total: a site that answers slowly, or never, delays only requests
// to itself, and a client with many of them only its own.
// One per worker, in front of every connection of HttpClient. Audio and probe threads.

import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { KeyedSemaphore } from "../../lib/keyed-semaphore.ts";
import { type Owner, Owners } from "../../lib/owners.ts";

/** Per site: requests without an answer yet … */
const SITE_OPENING_MAX = 128;
/** … and connections in all. Many players may listen to the same station. */
const SITE_CONNECTIONS_MAX = 2_048;
/** For all sites together; each is a socket and some memory. */
const CONNECTIONS_MAX = 4_096;
/** Of each, for the tracks of one account. */
const ACCOUNT_SHARE = 3 / 4;
const ALL_SITES = "all sites";
const WAITING_MAX = 4_096;

/** Permission to have one connection. */
export interface ConnectionShare {
  /** The answer's head has arrived. */
  readonly opened: () => void;
  /** The connection is free again. Any number of times. */
  readonly release: () => void;
}

interface ConnectionWait {
  /** Whose track it is for. */
  readonly owner: Owner;
  readonly waitMsMax: number;
  readonly signal: AbortSignal;
}

export class ConnectionShares {
  readonly #clock: Clock;
  readonly #semaphore = new KeyedSemaphore({ waitingMax: WAITING_MAX });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for a connection to this site (host and port), no longer than `waitMsMax`.
   * @throws NodeError "input-site-busy", or the reason of the signal
   */
  async take(name: string, { owner, waitMsMax, signal }: ConnectionWait): Promise<ConnectionShare> {
    // No host has a space in it.
    const opening = `opening ${name}`;
    const permit = await this.#semaphore.acquire({
      limits: [
        limitOf(opening, SITE_OPENING_MAX),
        limitOf(name, SITE_CONNECTIONS_MAX),
        limitOf(ALL_SITES, CONNECTIONS_MAX),
      ],
      owners: new Owners(owner),
      signal,
      timeout: { clock: this.#clock, delayMs: waitMsMax },
      busy: () => busyError(name),
    });
    return { opened: () => permit.releaseKey(opening), release: () => permit.release() };
  }
}

function limitOf(key: string, max: number) {
  return { key, max, accountMax: max * ACCOUNT_SHARE };
}

function busyError(name: string): NodeError {
  return new NodeError(
    "input-site-busy",
    `connecting to ${name}: too many requests wait for this site, or for all sites together; try again later`,
  );
}
