// An error boundary that records what was thrown, for code that runs in an audio worker's tick.

import { Heartbeat } from "../../src/bridge/heartbeat.ts";
import { ErrorBoundary } from "../../src/media/scheduler/error-boundary.ts";

interface Fault {
  readonly playerId: number;
  readonly error: unknown;
}

export function createErrorBoundary({
  heartbeat = new Heartbeat(Heartbeat.allocate()),
}: {
  readonly heartbeat?: Heartbeat;
} = {}): {
  readonly boundary: ErrorBoundary;
  readonly heartbeat: Heartbeat;
  readonly faults: readonly Fault[];
} {
  const faults: Fault[] = [];
  const boundary = new ErrorBoundary({ heartbeat, onFault: (playerId, error) => faults.push({ playerId, error }) });
  return { boundary, heartbeat, faults };
}
