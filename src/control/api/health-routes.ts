// The route that says whether the node does all that it should (docs/reference/rest.md). It always answers 200: a node
// that cannot store sessions still plays, and must not be restarted for it. Main thread.

import { z } from "zod";
import type { Role } from "../access/identity.ts";
import type { ClusterReport, ClusterStatus } from "../cluster/cluster-status.ts";
import { orOfMachines } from "../protocol/machine-answers-json.ts";
import { type HealthJson, healthSchema } from "../protocol/node-health-json.ts";
import type { StateReport, StateStatus } from "../state/state-status.ts";
import type { ApiContext } from "./api-context.ts";
import { json, MACHINES_PARAMETER, type RestRoute } from "./route.ts";

/** Statuses of state and cluster that need nobody. */
const WELL: ReadonlySet<StateStatus["kind"] | ClusterStatus["kind"]> = new Set(["disabled", "working", "joined"]);

/** `/v4/tonearm/health`. */
export function healthRoutes({
  readState,
  readCluster,
  sessions,
}: Pick<ApiContext, "readState" | "readCluster" | "sessions">): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/v4/tonearm/health",
      access: "known",
      handle: ({ identity }) => {
        const { isDraining } = sessions;
        return json({ ...healthOf(readState(), readCluster(), identity.role), isDraining } satisfies HealthJson);
      },
      ofMachines: (answers, { isComplete }) => ({ isHealthy: isComplete && answers.every(isWell) }),
      description: {
        summary: "Whether sessions and players outlive a restart, and the cluster is joined.",
        query: [MACHINES_PARAMETER],
        answers: { 200: orOfMachines(healthSchema, { isHealthy: z.boolean() }) },
        errors: [400],
      },
    },
  ];
}

/** Whether that is the health of a machine that needs nobody. */
function isWell(health: unknown): boolean {
  return z.object({ isHealthy: z.literal(true) }).safeParse(health).success;
}

function healthOf(state: StateReport, cluster: ClusterReport, role: Role): Omit<HealthJson, "isDraining"> {
  return {
    isHealthy: [state.status.kind, cluster.status.kind].every((kind) => WELL.has(kind)),
    state: stateOf(state, role),
    cluster: clusterOf(cluster, role),
  };
}

/** A client does not learn paths of the operator's machine: it gets neither the folder nor the system's words. */
function stateOf(report: StateReport, role: Role): HealthJson["state"] {
  const { status, setAside, restored, sessions, records, writes, failedWrites, writtenBytes } = report;
  const state = {
    status: status.kind,
    since: status.kind === "failing" ? status.sinceEpochMs : null,
    sessions,
    records,
    writes,
    failedWrites,
    writtenBytes,
    restored,
  };
  const shown = { reason: "reason" in status ? status.reason : null, setAside: setAside ?? null };
  return role === "client" ? state : { ...state, ...shown };
}

/** A client learns neither names of machines nor addresses of NATS servers. */
function clusterOf({ status, machine, machines, ...shown }: ClusterReport, role: Role): HealthJson["cluster"] {
  const since = "sinceEpochMs" in status ? status.sinceEpochMs : null;
  const cluster = { status: status.kind, since, machineCount: machines.length };
  if (role === "client") return cluster;
  return {
    ...cluster,
    ...shown,
    reason: "reason" in status ? status.reason : null,
    machine: machine?.id ?? null,
    machines: machines.map(({ contract: _contract, players = null, ...machine }) => ({ ...machine, players })),
  };
}
