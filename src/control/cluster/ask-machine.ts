// Asks machines that have players of a session that is this machine's. Main thread; shared by player-places.ts and
// player-moves.ts.

import type { Session } from "../sessions/session.ts";
import type { MachineCalls } from "./machine-calls.ts";
import { PLAYERS, type PlayerCall, type RemoteSessionInfo } from "./player-calls.ts";

/** Longest that a machine takes for what is asked again without an answer. */
const REPEATED_MS_MAX = 10_000;

/**
 * Resolves with the answer.
 * @throws NodeError as `MachineCalls.call`
 */
export function askMachine(calls: Pick<MachineCalls, "call">, machineId: string, call: PlayerCall): Promise<string> {
  // All but requests of clients can be repeated.
  const options = call.kind === "request" ? {} : { timeoutMs: REPEATED_MS_MAX };
  return calls.call(machineId, PLAYERS, JSON.stringify(call), options);
}

/** What a machine needs to know of a session that it has players of. */
export function infoOf({ id, userId, clientName, owner, account }: Session): RemoteSessionInfo {
  return { id, userId, clientName: clientName ?? null, owner: owner ?? null, account };
}
