// Answers a thread that wants an address to send a request from, and notes the addresses that failed: the same for
// audio workers, the probe thread and those of plugins. Main thread.

import type { RouteCommand } from "../../bridge/commands.ts";
import type { RouteEvent, WorkerEvent } from "../../bridge/events.ts";

/** Chooses the addresses that threads send requests from; control/route-planner/route-planner.ts is the real one. */
export interface RouteSource {
  answer(routeEvent: Extract<RouteEvent, { readonly type: "routeRequested" }>): RouteCommand;
  onFailure(failed: Extract<RouteEvent, { readonly type: "routeFailed" }>): void;
}

/** Deals with an event about addresses; false: it is about something else. Without `routes` nobody asks. */
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
