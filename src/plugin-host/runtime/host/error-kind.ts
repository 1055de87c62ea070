// What kind of error a plugin has thrown. By its name, not its class: a plugin may have brought a copy of the interface
// with it. Plugin thread.

import { SourceError, type SourceErrorKind } from "../../../plugin-api/plugin.ts";

const KINDS: readonly SourceErrorKind[] = ["not-found", "unavailable", "busy", "changed", "unreachable", "invalid"];

/** Undefined: it is not a SourceError. */
export function kindOf(error: unknown): SourceErrorKind | undefined {
  if (!(error instanceof Error) || error.name !== SourceError.name || !("kind" in error)) return undefined;
  const { kind } = error;
  return KINDS.find((known) => known === kind);
}
