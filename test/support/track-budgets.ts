// Budgets for the work of a track, as an audio worker makes them: on the real clock or a test's, unlimited unless a
// test says otherwise.

import { Heartbeat } from "../../src/bridge/heartbeat.ts";
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import type { Owner } from "../../src/lib/owners.ts";
import { TimeSlicer } from "../../src/media/quota/time-slicer.ts";
import { TrackBudget } from "../../src/media/quota/track-budget.ts";

interface TrackBudgetTraits {
  readonly clock?: Clock;
  readonly memoryBytes?: number;
  readonly slicer?: TimeSlicer;
  readonly heartbeat?: Heartbeat;
  readonly taskId?: number;
  readonly beforeWork?: () => void;
  readonly owner?: Owner;
}

export function createTrackBudget(traits: TrackBudgetTraits = {}): TrackBudget {
  return new TrackBudget({
    clock: traits.clock ?? systemClock,
    slicer: traits.slicer ?? new TimeSlicer(),
    createMemory: () =>
      new ByteBudget({ owner: "the track", limitBytes: traits.memoryBytes ?? Number.MAX_SAFE_INTEGER }),
    heartbeat: traits.heartbeat ?? new Heartbeat(Heartbeat.allocate()),
    taskId: traits.taskId ?? 1,
    owner: traits.owner ?? ["address test"],
    activity: "read",
    beforeWork: traits.beforeWork ?? (() => undefined),
  });
}
