// What is stored of sessions and players, for Prometheus: whether writing works, how much is stored and written, what
// was restored. Main thread; read when it is asked for.

import type { StateReport, StateStatus } from "../../control/state/state-status.ts";
import type { MetricFamily } from "./prometheus-text.ts";

/** All of them. */
const STATUSES = Object.keys({
  disabled: true,
  off: true,
  working: true,
  failing: true,
} satisfies Record<StateStatus["kind"], true>);

export function stateFamilies(report: StateReport): readonly MetricFamily[] {
  const { status, sessions, records, writes, failedWrites, writtenBytes, restored } = report;
  return [
    {
      name: "tonearm_state_status",
      help: "1 for what holds of the stored state, 0 for the rest.",
      type: "gauge",
      samples: STATUSES.map((kind) => ({ labels: { status: kind }, value: kind === status.kind ? 1 : 0 })),
    },
    { name: "tonearm_state_sessions", help: "Stored sessions.", type: "gauge", samples: [{ value: sessions }] },
    { name: "tonearm_state_records", help: "Records of them.", type: "gauge", samples: [{ value: records }] },
    {
      name: "tonearm_state_writes_total",
      help: "Writes of stored state.",
      type: "counter",
      samples: [
        { labels: { outcome: "succeeded" }, value: writes },
        { labels: { outcome: "failed" }, value: failedWrites },
      ],
    },
    {
      name: "tonearm_state_written_bytes_total",
      help: "Bytes of the records written, before encryption.",
      type: "counter",
      samples: [{ value: writtenBytes }],
    },
    {
      name: "tonearm_state_restored",
      help: "What the node has restored at its start.",
      type: "gauge",
      samples: [
        { labels: { what: "sessions" }, value: restored.sessions },
        { labels: { what: "players" }, value: restored.players },
      ],
    },
  ];
}
