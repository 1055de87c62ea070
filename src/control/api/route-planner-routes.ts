// Routes of the route planner, which is not built yet and so always off (protocol-v4.md section 3.8). Main thread.

import { ApiError } from "./api-error.ts";
import { freeAddressBody } from "./request-bodies.ts";
import type { RestAnswer, RestRoute } from "./rest-server.ts";

export function routePlannerRoutes(): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/v4/routeplanner/status",
      handle: () => ({ kind: "empty", status: 204 }),
      description: { summary: "The route planner; nothing while there is none.", answers: { 204: "empty" } },
    },
    {
      method: "POST",
      path: "/v4/routeplanner/free/address",
      handle: (request) => {
        request.body(freeAddressBody);
        return refuse();
      },
      description: {
        summary: "Takes an address out of those that failed.",
        body: freeAddressBody,
        answers: {},
        errors: [500],
      },
    },
    {
      method: "POST",
      path: "/v4/routeplanner/free/all",
      handle: refuse,
      description: { summary: "Forgets all addresses that failed.", answers: {}, errors: [500] },
    },
  ];
}

/** The published status: clients may take it for what it says. */
function refuse(): RestAnswer {
  throw new ApiError(500, "Can't access disabled route planner");
}
