// The metrics of an audio worker that has nothing to do.

import { WORKER_GAUGES, type WorkerMetrics } from "../../src/bridge/audio-metrics.ts";
import { zeroCounts } from "../../src/bridge/zero-counts.ts";

const GAUGES = Object.keys(WORKER_GAUGES) as (keyof typeof WORKER_GAUGES)[]; // its own keys

/** All 0. */
export function idleWorker(): WorkerMetrics {
  return { ...zeroCounts(GAUGES), lateness: [], heaviestPlayer: undefined };
}
