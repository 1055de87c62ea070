// What has become of the players of a node that drains, for its operators: POST /v4/tonearm/drain. Main thread; made in
// control/api/drain-routes.ts.

import { z } from "zod";
import { count, type JsonOf } from "./json-of.ts";

export const drainedSchema = z.strictObject({
  moved: count.describe("Players that have gone on at other machines of the cluster meanwhile"),
  left: count.describe("Players that are still here, and would end with the node"),
});

export type DrainedJson = JsonOf<typeof drainedSchema>;
