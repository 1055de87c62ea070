// Limits the connections per site and in total: a site that answers slowly, or never, delays only requests to itself.
// One per worker, in front of every connection of HttpClient. Audio and probe threads.

import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { KeyedSemaphore } from "../../lib/keyed-semaphore.ts";

/** Per site: requests without an answer yet … */
const SITE_OPENING_MAX = 128;
/** … and connections in all. Many players may listen to the same station. */
const SITE_CONNECTIONS_MAX = 2_048;
/** For all sites together; each is a socket and some memory. */
const CONNECTIONS_MAX = 4_096;
const WAITING_MAX = 4_096;

/** Permission to have one connection. */
export interface ConnectionShare {
  /** The answer's head has arrived. */
  readonly opened: () => void;
  /** The connection is free again. Any number of times. */
  readonly release: () => void;
}

interface ConnectionWait {
  readonly waitMsMax: number;
  readonly signal: AbortSignal;
}

export class ConnectionShares {
  readonly #clock: Clock;
  readonly #semaphore = new KeyedSemaphore({ permitsMax: CONNECTIONS_MAX, waitingMax: WAITING_MAX });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for a connection to this site (host and port), no longer than `waitMsMax`.
   * @throws NodeError "input-site-busy", or the reason of the signal
   */
  async take(name: string, { waitMsMax, signal }: ConnectionWait): Promise<ConnectionShare> {
    // No host has a space in it.
    const opening = `opening ${name}`;
    const permit = await this.#semaphore.acquire({
      limits: [
        { key: opening, max: SITE_OPENING_MAX },
        { key: name, max: SITE_CONNECTIONS_MAX },
      ],
      signal,
      timeout: { clock: this.#clock, delayMs: waitMsMax },
      busy: () => busyError(name),
    });
    return { opened: () => permit.releaseKey(opening), release: () => permit.release() };
  }
}

function busyError(name: string): NodeError {
  return new NodeError(
    "input-site-busy",
    `connecting to ${name}: too many requests wait for this site, or for all sites together; try again later`,
  );
}
