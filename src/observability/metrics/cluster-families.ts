// How this machine is doing in its cluster, for Prometheus. A node that is alone has the families without a value: an
// alert on them needs no other condition. Main thread; read when it is asked for.

import type { ClusterReport } from "../../control/cluster/cluster-status.ts";
import type { MetricFamily } from "./prometheus-text.ts";

export function clusterFamilies(report: ClusterReport): readonly MetricFamily[] {
  const families = familiesOf(report);
  return report.status.kind === "disabled" ? families.map((family) => ({ ...family, samples: [] })) : families;
}

function familiesOf({ status, machines, sessionsElsewhere, counts }: ClusterReport): readonly MetricFamily[] {
  const { adopted, given, taken, forwarded, forwardsFailed, lost } = counts;
  return [
    gauge("tonearm_cluster_up", "1 while this machine is joined to its cluster.", status.kind === "joined" ? 1 : 0),
    gauge("tonearm_cluster_machines", "Machines of the cluster that are alive.", machines.length),
    gauge("tonearm_cluster_sessions_elsewhere", "Sessions of other machines.", sessionsElsewhere),
    {
      name: "tonearm_cluster_sessions_moved_total",
      help: "Sessions that came to this machine or left it.",
      type: "counter",
      samples: Object.entries({ adopted, given, taken }).map(([kind, value]) => ({ labels: { kind }, value })),
    },
    counter("tonearm_cluster_requests_forwarded_total", "Requests passed on to another machine.", forwarded),
    counter("tonearm_cluster_forwards_failed_total", "Those without an answer from there.", forwardsFailed),
    counter("tonearm_cluster_lost_total", "How often this machine was cut off or taken for dead.", lost),
  ];
}

function gauge(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: "gauge", samples: [{ value }] };
}

function counter(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: "counter", samples: [{ value }] };
}
