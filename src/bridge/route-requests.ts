// Requests of any thread for the address to send from: sent to the main thread, each with a time limit. Used on every
// thread that sends requests; answered by control/workers/route-source.ts.

import { NodeError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { RouteCommand } from "./commands.ts";
import type { AddressFamily, RouteEvent } from "./events.ts";
import { PendingReplies } from "./pending-replies.ts";
import { RemoteError } from "./wire-error.ts";

/** Choosing an address takes microseconds; this is for a main thread that is busy with something else. */
const ROUTE_TIMEOUT_MS = 5000;
/** Requests that may be pending at once; one more is refused with `worker-busy`. */
const ROUTE_REQUESTS_MAX = 4096;

/** One for each thread. */
export class RouteRequests {
  readonly #pending: PendingReplies<string | undefined>;
  readonly #send: (routeEvent: Extract<RouteEvent, { readonly type: "routeRequested" }>) => void;

  /** @param send to the main thread */
  constructor(clock: Clock, send: (routeEvent: Extract<RouteEvent, { readonly type: "routeRequested" }>) => void) {
    this.#pending = new PendingReplies(clock);
    this.#send = send;
  }

  /**
   * The egress address for one request: `preferred` where it may be used. `families` are those of the target's
   * addresses. Undefined: no particular address. Rejects with `routes-exhausted` (RemoteError), `worker-timeout` after
   * 5 s, or `worker-busy` with 4,096 requests already pending.
   */
  requestRoute(families: readonly AddressFamily[], preferred?: string): Promise<string | undefined> {
    if (this.#pending.count >= ROUTE_REQUESTS_MAX) {
      const message = `${ROUTE_REQUESTS_MAX} requests wait for an address to be sent from`;
      return Promise.reject(new NodeError("worker-busy", message));
    }
    const lateText = `the main thread named no address to send from within ${ROUTE_TIMEOUT_MS} ms`;
    return this.#pending.ask({ timeoutMs: ROUTE_TIMEOUT_MS, lateText }, (routeId) => {
      this.#send({ type: "routeRequested", routeId, families, preferred });
    });
  }

  /** The answer to one of them. */
  settle(command: RouteCommand): void {
    if (command.type === "route") this.#pending.resolve(command.routeId, command.address);
    else this.#pending.reject(command.routeId, new RemoteError(command.error));
  }
}
