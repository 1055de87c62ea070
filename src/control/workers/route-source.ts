// Answers a thread that requests an address to send from, and notes the addresses that failed: audio workers, the probe
// thread and plugin threads alike. Main thread.

import type { RouteCommand } from "../../bridge/commands.ts";
import type { RouteEvent, WorkerEvent } from "../../bridge/events.ts";

/** Chooses the addresses that threads send requests from; control/route-planner/route-planner.ts is the real one. */
export interface RouteSource {
  answer(routeEvent: Extract<RouteEvent, { readonly type: "routeRequested" }>): RouteCommand;
  onFailure(failed: Extract<RouteEvent, { readonly type: "routeFailed" }>): void;
}

/** Handles an event about addresses; returns false for any other event. Without `routes` no thread asks. */
export function serveRoutes(
  event: WorkerEvent,
  routes: RouteSource | undefined,
  send: (answer: RouteCommand) => void,
): boolean {
  if (event.type === "routeFailed") routes?.onFailure(event);
  else if (event.type !== "routeRequested") return false;
  else if (routes !== undefined) send(routes.answer(event));
  return true;
}
