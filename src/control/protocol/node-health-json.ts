// Whether the node does all that it should, for its operators and their monitoring: GET /v4/tonearm/health. Main thread;
// made in control/api/health-routes.ts.

import { z } from "zod";
import { MACHINE_ROLES } from "../../config/cluster-settings.ts";
import { count, type JsonOf } from "./json-of.ts";

const CLUSTER_STATUSES = ["disabled", "joining", "joined", "away", "cut-off"] as const;

const machineSchema = z.strictObject({
  id: z.string().describe("Of one life of a process"),
  name: z.string(),
  roles: z.array(z.enum(MACHINE_ROLES)).readonly(),
  regions: z.array(z.string()).readonly().describe("Voice regions near it"),
  version: z.string(),
  players: count.nullable().describe("On it, of all sessions"),
});

/** Members that are optional are not for keys of the role `client`. */
const clusterSchema = z.strictObject({
  status: z
    .enum(CLUSTER_STATUSES)
    .describe(
      "disabled: not configured; joining: for the first time; away: NATS does not answer; " +
        "cut-off: NATS may be there for the others, so the players here were ended",
    ),
  reason: z.string().nullable().optional().describe("Why it is not joined. Not for keys of the role client"),
  since: z.int().nullable().describe("Since when it is not joined, epoch milliseconds"),
  machineCount: count.describe("Machines that are alive, this one among them"),
  machine: z.string().nullable().optional().describe("Id of this machine while it is joined. Not for clients"),
  machines: z.array(machineSchema).optional().describe("Those that are alive, by name. Not for clients"),
  sessionsElsewhere: count.optional().describe("Sessions of other machines. Not for clients"),
  counts: z
    .strictObject({
      adopted: count.describe("Sessions taken over from machines that died or left"),
      given: count.describe("Sessions given to a machine that their client came to"),
      taken: count.describe("Sessions taken from the machine that their client had left"),
      forwarded: count.describe("Requests passed on to the machine of their session"),
      forwardsFailed: count.describe("Those without an answer from there"),
      lost: count.describe("How often this machine was cut off or taken for dead"),
    })
    .optional()
    .describe("Since the node started. Not for clients"),
});

/** The answer of `GET /v4/tonearm/health`. */
export type HealthJson = JsonOf<typeof healthSchema>;

/** Schema of HealthJson. */
export const healthSchema = z
  .strictObject({
    isHealthy: z
      .boolean()
      .describe(
        "False: sessions are to be stored and are not, so a restart would lose them; or the cluster is not joined",
      ),
    isDraining: z.boolean().describe("It takes no new sessions and players: it is about to be stopped"),
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
    cluster: clusterSchema,
  })
  .meta({ id: "Health" });
