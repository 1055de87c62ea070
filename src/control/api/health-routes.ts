// The route that says whether the node does all that it should (docs/reference/rest.md). It always answers 200: a node
// that cannot store sessions still plays, and must not be restarted for it. Main thread.

import type { Role } from "../access/identity.ts";
import { type HealthJson, healthSchema } from "../protocol/node-health-json.ts";
import type { StateReport } from "../state/state-status.ts";
import type { ApiContext } from "./api-context.ts";
import { json, type RestRoute } from "./route.ts";

/** `/v4/tonearm/health`. */
export function healthRoutes({ readState }: Pick<ApiContext, "readState">): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/v4/tonearm/health",
      access: "known",
      handle: ({ identity }) => json(healthOf(readState(), identity.role)),
      description: {
        summary: "Whether sessions and players outlive a restart.",
        answers: { 200: healthSchema },
      },
    },
  ];
}

/** A client does not learn paths of the operator's machine: it gets neither the folder nor the system's words. */
function healthOf(report: StateReport, role: Role): HealthJson {
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
  return {
    isHealthy: status.kind === "working" || status.kind === "disabled",
    state: role === "client" ? state : { ...state, ...shown },
  };
}
