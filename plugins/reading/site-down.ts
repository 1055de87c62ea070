// For sites that clients wait for and that are not worth a wait. Plugin threads.

import { SourceError } from "../../src/plugin-api/plugin.ts";

/** A server that does not answer in time is not asked for so long: each try would make a client wait. */
const DOWN_MS = 30_000;

/** For the `catch` of a request: opens the circuit breaker at once for a server that is down. */
export function openWhenDown(error: unknown): never {
  if (!(error instanceof SourceError) || error.kind !== "unreachable") throw error;
  throw new SourceError("busy", error.message, { cause: error, retryAfterMs: DOWN_MS });
}
