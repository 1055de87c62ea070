// Which machine of a cluster has a session, as the WebSocket end point needs it; node-cluster.ts is the real one. Main
// thread.

import type { SessionClient } from "../sessions/sessions.ts";

/** What a client says of the session that it asks to resume: its id, or the key that a v3 client has chosen. */
export type AskedSession = { readonly sessionId: string } | { readonly resumeKey: string };

/** Whose session is asked for. */
export type AskingClient = Pick<SessionClient, "userId" | "owner"> & { readonly version: "3" | "4" };

export interface SessionHomes {
  /**
   * An id for a new session, known to all machines by now; undefined: any will do. Once it is `open`ed, its end tells the
   * others; one that is not to be used is given back by `cancel`.
   * @throws NodeError "cluster-away"
   */
  reserve(): Promise<string> | undefined;
  cancel(id: string): void;
  /**
   * Brings the session here, waiting for its client, if another machine has it, it belongs to that client, and its client is
   * away. Resolves when that is done or cannot be done, which a machine that has just died may take some seconds for;
   * undefined: there is nothing to do.
   * @throws NodeError "cluster-away"
   */
  bring(asked: AskedSession, client: AskingClient): Promise<void> | undefined;
}

/** Of a node that shares its sessions with no other. */
export const ONE_HOME: SessionHomes = {
  reserve: () => undefined,
  cancel: () => undefined,
  bring: () => undefined,
};
