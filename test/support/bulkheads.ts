// A bulkhead that notes what was thrown, for what runs in an audio worker's tick.

import { WorkMark } from "../../src/bridge/work-mark.ts";
import { Bulkhead } from "../../src/media/tick/bulkhead.ts";

export interface Fault {
  readonly playerId: number;
  readonly error: unknown;
}

export function createBulkhead({ mark = new WorkMark(WorkMark.allocate()) }: { readonly mark?: WorkMark } = {}): {
  readonly bulkhead: Bulkhead;
  readonly mark: WorkMark;
  readonly faults: readonly Fault[];
} {
  const faults: Fault[] = [];
  const bulkhead = new Bulkhead({ mark, onFault: (playerId, error) => faults.push({ playerId, error }) });
  return { bulkhead, mark, faults };
}
