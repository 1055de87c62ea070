// The route that empties the node before it ends (docs/reference/rest.md). Main thread; `tonearm drain` asks it.

import { type DrainedJson, drainedSchema } from "../protocol/node-drain-json.ts";
import type { ApiContext } from "./api-context.ts";
import { badRequest } from "./api-error.ts";
import { json, type RestRoute } from "./route.ts";

const DEADLINE_S_DEFAULT = 60;
const DEADLINE_S_MAX = 3600;

/** POST /v4/tonearm/drain. */
export function drainRoutes({ drain }: Pick<ApiContext, "drain">): readonly RestRoute[] {
  return [
    {
      method: "POST",
      path: "/v4/tonearm/drain",
      access: "operator",
      handle: async ({ query }) => {
        const text = query.get("deadline") ?? String(DEADLINE_S_DEFAULT);
        const seconds = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
        if (!(seconds <= DEADLINE_S_MAX)) throw badRequest(`deadline is not 0 to ${DEADLINE_S_MAX} seconds`);
        return json((await drain(seconds * 1000)) satisfies DrainedJson);
      },
      description: {
        summary: "Takes no new sessions and players until a restart, and moves players to other machines.",
        query: [
          {
            name: "deadline",
            meaning: "Seconds after which it answers, whatever is left. Default: 60.",
            type: "integer",
          },
        ],
        answers: { 200: drainedSchema },
        errors: [400],
      },
    },
  ];
}
