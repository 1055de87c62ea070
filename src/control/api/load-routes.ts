// The route that says how busy the node is (docs/reference/rest.md). Main thread.

import { orOfMachines } from "../protocol/machine-answers-json.ts";
import { loadSchema } from "../protocol/node-load-json.ts";
import type { ApiContext } from "./api-context.ts";
import { json, MACHINES_PARAMETER, type RestRoute } from "./route.ts";

/** `/v4/tonearm/load`. */
export function loadRoutes({ readLoad }: Pick<ApiContext, "readLoad">): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/v4/tonearm/load",
      access: "known",
      handle: () => json(readLoad()),
      ofMachines: () => ({}),
      description: {
        summary: "The load of the audio threads, and the measures taken against overload.",
        query: [MACHINES_PARAMETER],
        answers: { 200: orOfMachines(loadSchema) },
        errors: [400],
      },
    },
  ];
}
