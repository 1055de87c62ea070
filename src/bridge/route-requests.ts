// Requests of any thread for the address to send from: sent to the main thread, each with a time limit. Used on every
// thread that sends requests; answered by control/workers/route-source.ts.

import { NodeError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Owner } from "../lib/owners.ts";
import type { RouteCommand } from "./commands.ts";
import type { AddressFamily, RouteEvent } from "./events.ts";
import { PendingRequests } from "./pending-requests.ts";
import { RemoteError } from "./wire-error.ts";

/** Choosing an address takes microseconds; this is for a main thread that is busy with something else. */
const ROUTE_TIMEOUT_MS = 5000;
/** Requests that may be pending at once, shared between owners. */
const ROUTE_REQUESTS_MAX = 4096;

/** What an address is for. */
interface RoutePurpose {
  /** Host and port of the site. Default: no site in particular. */
  readonly site?: string | undefined;
  /** Default: nobody. */
  readonly owner?: Owner | undefined;
}

/** One for each thread. */
export class RouteRequests {
  readonly #requests: PendingRequests<{ readonly route: string | undefined }>;
  readonly #send: (routeEvent: Extract<RouteEvent, { readonly type: "routeRequested" }>) => void;

  /** @param send to the main thread */
  constructor(clock: Clock, send: (routeEvent: Extract<RouteEvent, { readonly type: "routeRequested" }>) => void) {
    this.#requests = new PendingRequests({ clock, bound: { pendingMax: ROUTE_REQUESTS_MAX, error: busyError } });
    this.#send = send;
  }

  /**
   * The egress address for one request: `preferred` where it may be used. `families` are those of the target's
   * addresses. Undefined: no particular address. Rejects with `routes-exhausted` (RemoteError), `worker-timeout` after
   * 5 s, or `worker-busy` with 4,096 requests pending, most of them of this owner.
   */
  requestRoute(
    families: readonly AddressFamily[],
    preferred?: string,
    { site, owner }: RoutePurpose = {},
  ): Promise<string | undefined> {
    const timeLimit = { ms: ROUTE_TIMEOUT_MS, error: lateError };
    return this.#requests.request("route", { timeLimit, owner }, (routeId) => {
      this.#send({ type: "routeRequested", routeId, families, site, preferred });
    });
  }

  /** The answer to one of them. */
  settle(command: RouteCommand): void {
    if (command.type === "route") this.#requests.resolve(command.routeId, command.address);
    else this.#requests.reject(command.routeId, new RemoteError(command.error));
  }
}

function busyError(): NodeError {
  return new NodeError("worker-busy", `${ROUTE_REQUESTS_MAX} requests are already waiting for an egress address`);
}

function lateError(): NodeError {
  return new NodeError("worker-timeout", `no egress address was assigned within ${ROUTE_TIMEOUT_MS} ms`);
}
