// A report on the stored state: one that works and has restored something, unless a test changes it.

import type { StateReport } from "../../src/control/state/state-status.ts";

export function stateReport(changes: Partial<StateReport> = {}): StateReport {
  return {
    status: { kind: "working" },
    sessions: 2,
    records: 9,
    writes: 5,
    failedWrites: 1,
    writtenBytes: 4096,
    restored: { sessions: 1, players: 3 },
    setAside: undefined,
    ...changes,
  };
}
