// Routes of the route planner: what it does, and addresses to be used again (protocol-v4.md section 3.8). Main thread.

import { routePlannerSchema } from "../protocol/route-planner-json.ts";
import type { ApiContext, PlannerControl } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { freeAddressBody } from "./request-bodies.ts";
import { json, type RestAnswer, type RestRequest, type RestRoute } from "./route.ts";

/** Characters that an error message repeats of the sent address and of the configured blocks. */
const SHOWN_LENGTH_MAX = 60;
const SHOWN_BLOCKS_MAX = 10;

const NO_CONTENT: RestAnswer = { kind: "empty", status: 204 };

/** `/v4/routeplanner/*`. The routes exist without a planner as well, and answer that there is none. */
export function routePlannerRoutes({ routePlanner }: Pick<ApiContext, "routePlanner">): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/v4/routeplanner/status",
      access: "viewer",
      handle: () => (routePlanner === undefined ? NO_CONTENT : json(routePlanner.status())),
      description: {
        summary: "The state of the route planner; no content without one.",
        answers: { 200: routePlannerSchema, 204: "empty" },
      },
    },
    {
      method: "POST",
      path: "/v4/routeplanner/free/address",
      access: "operator",
      handle: (request) => freeAddress(routePlanner, request),
      description: {
        summary: "Removes an address from the failing addresses.",
        body: freeAddressBody,
        answers: { 204: "empty" },
        errors: [500],
      },
    },
    {
      method: "POST",
      path: "/v4/routeplanner/free/all",
      access: "operator",
      handle: () => {
        existing(routePlanner).freeAll();
        return NO_CONTENT;
      },
      description: { summary: "Forgets all addresses that failed.", answers: { 204: "empty" }, errors: [500] },
    },
  ];
}

function freeAddress(routePlanner: PlannerControl | undefined, request: RestRequest): RestAnswer {
  const { address } = request.body(freeAddressBody);
  const planner = existing(routePlanner);
  // As the status writes them: there is a slash in front.
  if (planner.free(address.replace(/^\//, ""))) return NO_CONTENT;
  const { blocks } = planner;
  const shown = blocks.slice(0, SHOWN_BLOCKS_MAX).join(", ");
  const more = blocks.length > SHOWN_BLOCKS_MAX ? ` and ${blocks.length - SHOWN_BLOCKS_MAX} more` : "";
  const sent = address.length > SHOWN_LENGTH_MAX ? `${address.slice(0, SHOWN_LENGTH_MAX)}…` : address;
  throw new ApiError(400, `Invalid address: ${sent}: expected an IP address within ${shown}${more}`);
}

function existing(routePlanner: PlannerControl | undefined): PlannerControl {
  // The published status: clients may take it for what it says.
  if (routePlanner === undefined) throw new ApiError(500, "Can't access disabled route planner");
  return routePlanner;
}
