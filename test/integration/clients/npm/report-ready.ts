// For libraries that hand on what the node sends but do not say whether their session was resumed.

import type { ClientEvent } from "../client-driver.ts";

/** Reports a `ready` message of the node, and the player updates of libraries that have no event for them. */
export function reportReady(message: unknown, report: (event: ClientEvent) => void): void {
  const { op, resumed } = message as { readonly op?: string; readonly resumed?: boolean }; // as the library parsed it
  if (op !== "ready") return;
  report("ready");
  if (resumed === true) report("resumed");
}
