// Limits the connections per site and in total: a site that answers slowly, or never, delays only requests to itself.
// One per worker, in front of every connection of HttpClient. Audio and probe threads.

import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";

/** Per site: requests without an answer yet … */
const SITE_OPENING_MAX = 128;
/** … and connections in all. Many players may listen to the same station. */
const SITE_CONNECTIONS_MAX = 2_048;
/** For all sites together; each is a socket and some memory. */
const CONNECTIONS_MAX = 4_096;
const WAITING_MAX = 4_096;

interface Site {
  openingCount: number;
  connectionCount: number;
}

const NO_CONNECTIONS: Readonly<Site> = { openingCount: 0, connectionCount: 0 };

interface Waiting {
  readonly name: string;
  readonly admit: (share: ConnectionShare) => void;
}

/** Leave to have one connection. */
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
  readonly #sites = new Map<string, Site>();
  readonly #waiting = new Set<Waiting>();
  #connectionCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for a connection to this site (host and port), no longer than `waitMsMax`.
   * @throws NodeError "input-site-busy", or the reason of the signal
   */
  async take(name: string, wait: ConnectionWait): Promise<ConnectionShare> {
    wait.signal.throwIfAborted();
    return this.#hasCapacity(name) ? this.#share(name) : this.#wait(name, wait);
  }

  #hasCapacity(name: string): boolean {
    const { openingCount, connectionCount } = this.#sites.get(name) ?? NO_CONNECTIONS;
    return (
      openingCount < SITE_OPENING_MAX &&
      connectionCount < SITE_CONNECTIONS_MAX &&
      this.#connectionCount < CONNECTIONS_MAX
    );
  }

  #share(name: string): ConnectionShare {
    const site = this.#sites.get(name) ?? { ...NO_CONNECTIONS };
    this.#sites.set(name, site);
    site.openingCount++;
    site.connectionCount++;
    this.#connectionCount++;
    let isOpening = true;
    let isReleased = false;
    const opened = (): void => {
      if (!isOpening) return;
      isOpening = false;
      site.openingCount--;
      this.#admit();
    };
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      site.connectionCount--;
      this.#connectionCount--;
      if (site.connectionCount === 0) this.#sites.delete(name);
      if (isOpening) opened();
      else this.#admit();
    };
    return { opened, release };
  }

  #wait(name: string, { waitMsMax, signal }: ConnectionWait): Promise<ConnectionShare> {
    if (this.#waiting.size >= WAITING_MAX) throw busyError(name);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        timer.cancel();
        signal.removeEventListener("abort", onAbort);
      };
      const onAbort = (): void => {
        leave();
        reject(signal.reason);
      };
      const waiting: Waiting = {
        name,
        admit: (share) => {
          leave();
          resolve(share);
        },
      };
      const timer = this.#clock.after(waitMsMax, () => {
        leave();
        reject(busyError(name));
      });
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.add(waiting);
    });
  }

  /** Admits waiting requests in order, as far as there is capacity. */
  #admit(): void {
    for (const waiting of this.#waiting) {
      if (this.#connectionCount >= CONNECTIONS_MAX) return;
      if (this.#hasCapacity(waiting.name)) waiting.admit(this.#share(waiting.name));
    }
  }
}

function busyError(name: string): NodeError {
  return new NodeError(
    "input-site-busy",
    `connecting to ${name}: too many requests wait for this site, or for all sites together; try again later`,
  );
}
