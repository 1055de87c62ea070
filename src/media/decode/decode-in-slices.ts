// Runs a decoder that works in steps: at once while it is quick, else in the track's time slices. Audio thread.

import { SLICE_MS_MAX, type TrackBudget } from "../quota/track-budget.ts";

/** The result of the steps; `ifClosed` when the decoder was closed between two slices. Without a budget, at once. */
export function decodeInSlices<T>(
  steps: Generator<void, T>,
  budget: TrackBudget | undefined,
  { isClosed, ifClosed }: { readonly isClosed: () => boolean; readonly ifClosed: T },
): T | Promise<T> {
  const startedMs = budget?.clock.now() ?? 0;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (budget === undefined || budget.clock.now() - startedMs < SLICE_MS_MAX) continue;
    return finishInSlices(steps, budget, () => (isClosed() ? { ifClosed } : undefined));
  }
}

async function finishInSlices<T>(
  steps: Generator<void, T>,
  budget: TrackBudget,
  closed: () => { readonly ifClosed: T } | undefined,
): Promise<T> {
  try {
    await budget.yield();
    for (let step = steps.next(); ; step = steps.next()) {
      const end = closed();
      if (end !== undefined) return end.ifClosed;
      if (step.done === true) return step.value;
      if (budget.isSpent) await budget.yield();
    }
  } finally {
    budget.pause();
  }
}
