// Whether the node does all that it should, for its operators and their monitoring: GET /v4/tonearm/health. Main thread;
// made in control/api/health-routes.ts.

import { z } from "zod";
import { count, type JsonOf } from "./json-of.ts";

/** The answer of `GET /v4/tonearm/health`. */
export type HealthJson = JsonOf<typeof healthSchema>;

/** Schema of HealthJson. */
export const healthSchema = z
  .strictObject({
    isHealthy: z.boolean().describe("False: sessions are to be stored and are not, so a restart would lose them"),
    state: z.strictObject({
      status: z
        .enum(["disabled", "off", "working", "failing"])
        .describe("disabled: by the configuration; off: not opened at the start; failing: writing fails"),
      reason: z.string().nullable().optional().describe("Why it is off or failing. Not for keys of the role client"),
      since: z.int().nullable().describe("When writing began to fail, epoch milliseconds"),
      sessions: count.describe("Sessions with resuming, which are stored"),
      records: count.describe("Records of them all"),
      writes: count.describe("Batches written since the node started"),
      failedWrites: count,
      writtenBytes: count.describe("Before encryption"),
      restored: z.strictObject({ sessions: count, players: count }).describe("At the start"),
      setAside: z
        .string()
        .nullable()
        .optional()
        .describe("Folder of earlier state that could not be used. Not for keys of the role client"),
    }),
  })
  .meta({ id: "Health" });
