// Budgets for what works for a track, as an audio worker makes them: on the real clock or a test's, with room for
// anything unless a test says otherwise.

import { WorkMark } from "../../src/bridge/work-mark.ts";
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { ThreadTurns } from "../../src/media/budget/thread-turns.ts";
import { TrackBudget } from "../../src/media/budget/track-budget.ts";

export interface TrackBudgetTraits {
  readonly clock?: Clock;
  readonly memoryBytes?: number;
  readonly turns?: ThreadTurns;
  readonly mark?: WorkMark;
  readonly owner?: number;
}

export function createTrackBudget(traits: TrackBudgetTraits = {}): TrackBudget {
  return new TrackBudget({
    clock: traits.clock ?? systemClock,
    turns: traits.turns ?? new ThreadTurns(),
    memory: new ByteBudget({ owner: "the track", limitBytes: traits.memoryBytes ?? Number.MAX_SAFE_INTEGER }),
    mark: traits.mark ?? new WorkMark(WorkMark.allocate()),
    owner: traits.owner ?? 1,
    activity: "read",
  });
}
