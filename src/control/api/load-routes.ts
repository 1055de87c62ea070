// The route that says how busy the node is (docs/reference/rest.md). Main thread.

import { loadSchema } from "../protocol/node-load-json.ts";
import type { ApiContext } from "./api-context.ts";
import { json, type RestRoute } from "./route.ts";

/** `/v4/tonearm/load`. */
export function loadRoutes({ readLoad }: Pick<ApiContext, "readLoad">): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/v4/tonearm/load",
      access: "known",
      handle: () => json(readLoad()),
      description: {
        summary: "The load of the audio threads, and the measures taken against overload.",
        answers: { 200: loadSchema },
      },
    },
  ];
}
