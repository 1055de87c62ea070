// Carries out the actions of the dashboard. Main thread. The page asks for confirmation before it sends one.

import { NodeError } from "../../errors.ts";
import type { PlannerControl, SourceControl } from "../api/api-context.ts";
import type { PlayerUpdate } from "../players/player-update.ts";
import type { SessionPlayer } from "../sessions/session-player.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { DashboardAction, PlayerReference } from "./live-messages.ts";

/** The components that actions change. */
export interface ActionParts {
  readonly sessions: Sessions;
  readonly sources: Pick<SourceControl, "reload">;
  readonly routePlanner: Pick<PlannerControl, "free" | "freeAll"> | undefined;
}

const UNCHANGED: PlayerUpdate = {
  trackChange: undefined,
  userData: undefined,
  positionMs: undefined,
  endTimeMs: undefined,
  volume: undefined,
  isPaused: undefined,
  filters: undefined,
  voice: undefined,
};

/** Resolves when it is done. Rejects with a NodeError that says why not. */
export async function carryOut(parts: ActionParts, action: DashboardAction): Promise<void> {
  switch (action.kind) {
    case "pause":
    case "resume":
      return update(playerAt(parts, action), { ...UNCHANGED, isPaused: action.kind === "pause" });
    case "stop":
      return update(playerAt(parts, action), { ...UNCHANGED, trackChange: { kind: "stop" } });
    case "skip":
      return playerAt(parts, action).skip();
    case "reloadPlugin":
      if ((await parts.sources.reload(action.name)) === undefined) throw gone("there is no such plugin");
      return undefined;
    case "drain":
      return parts.sessions.drain(action.isOn);
    case "freeAddress":
      if (parts.routePlanner?.free(action.address.replace(/^\//, "")) !== true) {
        throw gone("the address is in none of the configured blocks");
      }
      return undefined;
    case "freeAllAddresses":
      return parts.routePlanner?.freeAll();
  }
}

function update(player: SessionPlayer, change: PlayerUpdate): Promise<void> {
  return player.update(change, { isReplacing: true });
}

function playerAt({ sessions }: ActionParts, { sessionId, guildId }: PlayerReference): SessionPlayer {
  const player = sessions.get(sessionId)?.players.get(guildId);
  if (player === undefined) throw gone("the player is not there any more");
  return player;
}

function gone(message: string): NodeError {
  return new NodeError("request-refused", message);
}
