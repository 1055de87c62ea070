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
        summary: "How busy the audio threads are, and what is done about it.",
        answers: { 200: loadSchema },
      },
    },
  ];
}
