// The route that says how the players of one guild do and why they stuttered (docs/reference/rest.md). Main thread.

import { orOfMachines } from "../protocol/machine-answers-json.ts";
import { playerDiagnosesSchema } from "../protocol/player-diagnosis-json.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { json, MACHINES_PARAMETER, type RestAnswer, type RestRequest, type RestRoute } from "./route.ts";
import { readGuildId } from "./session-routes.ts";

/** GET /v4/tonearm/players/{guildId}, of all sessions or of one. */
export function diagnosisRoutes(context: Pick<ApiContext, "sessions">): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/v4/tonearm/players/:guildId",
      access: "known",
      handle: (request) => diagnose(context, request),
      ofMachines: () => ({}),
      description: {
        summary: "The state of the audio of a guild's players, and why it stuttered.",
        query: [{ name: "sessionId", meaning: "Only the player of this session.", type: "string" }, MACHINES_PARAMETER],
        answers: { 200: orOfMachines(playerDiagnosesSchema) },
        errors: [404],
      },
    },
  ];
}

/** A guild may have a player in each of several sessions. A client sees only its own. */
function diagnose({ sessions }: Pick<ApiContext, "sessions">, request: RestRequest): RestAnswer {
  const { role, name } = request.identity;
  const sessionId = request.query.get("sessionId");
  const players = sessions.playersOf(readGuildId(request), ({ id, owner }) => {
    return (sessionId ?? id) === id && (role !== "client" || owner === name);
  });
  if (players.length === 0) throw new ApiError(404, "Player not found");
  return json(players.map((player) => player.diagnose()));
}
