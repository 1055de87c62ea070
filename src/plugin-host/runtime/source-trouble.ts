// Converts a source's failure to the node's errors: a site's message is kept as it is, others get the source's name.
// Plugin thread.

import { type ErrorCode, NodeError } from "../../errors.ts";
import type { SourceErrorKind } from "../../plugin-api/plugin.ts";
import { kindOf } from "./host/error-kind.ts";
import { OwnLimitError } from "./host/own-limit-error.ts";

const CODES: Readonly<Record<SourceErrorKind, ErrorCode>> = {
  "not-found": "site-unavailable",
  unavailable: "site-unavailable",
  invalid: "site-unavailable",
  busy: "site-busy",
  changed: "site-changed",
  unreachable: "site-unreachable",
};

/** A NodeError for whatever a plugin's code has thrown. */
export function troubleOf(error: unknown, sourceName: string): NodeError {
  if (error instanceof NodeError) return error;
  const kind = kindOf(error);
  if (kind === undefined) {
    const message = `${sourceName}: its plugin failed unexpectedly; the log has more`;
    return new NodeError("plugin-failed", message, { cause: error });
  }
  const { message } = error as Error; // only an Error has a kind
  // A limit of the plugin itself, of which the client or others have used up their share: not the site's doing.
  if (error instanceof OwnLimitError) return new NodeError("load-busy", `${sourceName}: ${message}`, { cause: error });
  const code = CODES[kind];
  return new NodeError(code, code === "site-unavailable" ? message : `${sourceName}: ${message}`, { cause: error });
}
