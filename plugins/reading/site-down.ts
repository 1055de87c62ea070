// For sites that clients wait for and that are not worth a wait. Plugin threads.

import { SourceError } from "../../src/plugin-api/plugin.ts";

/** A server that does not answer in time is not asked for so long: each try would make a client wait. */
const DOWN_MS = 30_000;

/**
 * For the `catch` of a request to a site that refuses no single items: throws what counts as a failure of the site.
 * The circuit breaker opens at once for a server that is down, and after some refusals (HTTP 400, 401, 403).
 */
export function throwSiteFailure(error: unknown): never {
  const kind = error instanceof SourceError ? error.kind : undefined;
  const { message } = error as Error; // what requests reject with
  if (kind === "unreachable") throw new SourceError("busy", message, { cause: error, retryAfterMs: DOWN_MS });
  if (kind === "unavailable") throw new SourceError("changed", message, { cause: error });
  throw error;
}

/** Whether the site, as `throwSiteFailure` has it, has refused a request, or the last one before the breaker opened. */
export function isRefusal(error: unknown): boolean {
  return error instanceof SourceError && (error.kind === "unavailable" || isRefusal(error.cause));
}
