// A report on a cluster: one of two machines that is joined, unless a test changes it.

import type { ClusterReport } from "../../src/control/cluster/cluster-status.ts";

const MACHINE = {
  id: "aaaa",
  name: "box-of-ada",
  roles: ["gateway", "audio"],
  regions: ["rotterdam", "fra"],
  version: "1.2.3",
  contract: 2,
} as const;

export function clusterReport(changes: Partial<ClusterReport> = {}): ClusterReport {
  return {
    status: { kind: "joined" },
    machine: MACHINE,
    machines: [
      { ...MACHINE, players: 12 },
      { ...MACHINE, id: "bbbb", name: "box-of-eve", roles: ["gateway"], regions: [], players: undefined },
    ],
    sessionsElsewhere: 7,
    counts: { adopted: 1, given: 2, taken: 3, forwarded: 40, forwardsFailed: 5, lost: 6 },
    ...changes,
  };
}
