// Routes about sessions and their players (protocol-v4.md sections 2.2 and 2.5 to 2.10). Main thread.

import { isInt64 } from "../../lib/int64.ts";
import type { PlayerJson } from "../protocol/player-json.ts";
import { playerSchema, playersSchema } from "../protocol/player-json.ts";
import { type SessionJson, sessionSchema } from "../protocol/session-json.ts";
import type { Session } from "../sessions/session.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError, badRequest } from "./api-error.ts";
import { type ListAnswer, listOf } from "./list-answer.ts";
import { parsePlayerUpdate, updateBounds } from "./parse-player-update.ts";
import { type PlayerBody, playerBody, sessionBody } from "./request-bodies.ts";
import { json, type RestAnswer, type RestRequest, type RestRoute } from "./route.ts";

const SESSION_PATH = "/v4/sessions/:sessionId";
const PLAYERS_PATH = `${SESSION_PATH}/players`;
const PLAYER_PATH = `${PLAYERS_PATH}/:guildId`;

const SWITCHES: ReadonlyMap<string, boolean> = new Map([
  ...(["true", "on", "yes", "1"] as const).map((text) => [text, true] as const),
  ...(["false", "off", "no", "0"] as const).map((text) => [text, false] as const),
]);

/** `/v4/sessions/{sessionId}` and all below it. */
export function sessionRoutes(context: ApiContext): readonly RestRoute[] {
  return [
    {
      method: "PATCH",
      path: SESSION_PATH,
      handle: (request) => updateSession(context, request),
      description: {
        summary: "Sets whether and how long the session waits for its client.",
        body: sessionBody,
        answers: { 200: sessionSchema },
      },
    },
    {
      method: "GET",
      path: PLAYERS_PATH,
      isPlayerList: true,
      handle: (request) => listPlayers(context, request),
      description: { summary: "All players of the session, in no order.", answers: { 200: playersSchema } },
    },
    {
      method: "GET",
      path: PLAYER_PATH,
      handle: (request) => json(getPlayer(context, request)),
      description: { summary: "One player.", answers: { 200: playerSchema } },
    },
    {
      method: "PATCH",
      path: PLAYER_PATH,
      handle: async (request) => json(await updatePlayer(context, request, () => request.body(playerBody))),
      description: {
        summary: "Updates a player, or creates one. Members that are left out stay unchanged.",
        query: [{ name: "noReplace", meaning: "A track that is loaded stays.", type: "boolean" }],
        body: playerBody,
        answers: { 200: playerSchema },
        errors: [500, 503],
      },
    },
    {
      method: "DELETE",
      path: PLAYER_PATH,
      handle: (request) => destroyPlayer(context, request),
      description: { summary: "Ends a player, if there is one.", answers: { 204: "empty" } },
    },
  ];
}

function updateSession(context: ApiContext, request: RestRequest): RestAnswer {
  const { resuming, timeout } = request.body(sessionBody);
  const session = findSession(context, request);
  session.configure({ resuming, timeout });
  const settings: SessionJson = { resuming: session.resuming, timeout: session.timeout };
  return json(settings);
}

/**
 * The handler for v4 and v3: each player's JSON is made when the answer reaches it.
 * @throws ApiError 404 for a session without a connected client
 */
export function listPlayers(context: ApiContext, request: RestRequest): ListAnswer {
  return listOf([...findSession(context, request).players.values()], (player) => player.toJson());
}

/**
 * The handler for v4 and v3.
 * @throws ApiError 404 if the session or player does not exist, 400 for an invalid guild id
 */
export function getPlayer(context: ApiContext, request: RestRequest): PlayerJson {
  const guildId = readGuildId(request);
  const player = findSession(context, request).players.get(guildId);
  if (player === undefined) throw new ApiError(404, "Player not found");
  return player.toJson();
}

/**
 * The handler for v4 and v3, which parse bodies differently. Resolves when the update has been applied, voice included.
 * @throws ApiError 400 and 404; NodeError of the update ("player-busy", "node-overloaded", "voice-connect-failed" …)
 */
export async function updatePlayer(
  context: ApiContext,
  request: RestRequest,
  readPlayerBody: () => PlayerBody,
): Promise<PlayerJson> {
  const guildId = readGuildId(request);
  const isReplacing = !readSwitch(request.query, "noReplace");
  const body = readPlayerBody();
  const session = findSession(context, request);
  const update = parsePlayerUpdate(body, updateBounds(context, session.owner));
  return (await session.updatePlayer(guildId, update, { isReplacing })).toJson();
}

/**
 * The handler for v4 and v3: 204, whether there was one or not.
 * @throws ApiError 400 and 404 as `getPlayer`, but for the player
 */
export async function destroyPlayer(context: ApiContext, request: RestRequest): Promise<RestAnswer> {
  const guildId = readGuildId(request);
  await findSession(context, request).destroyPlayer(guildId);
  return { kind: "empty", status: 204 };
}

/** As `visibleSession`. Throws a 404 where there is none. */
export function findSession(context: Pick<ApiContext, "sessions">, request: RestRequest): Session {
  const session = visibleSession(context, request);
  if (session === undefined) throw new ApiError(404, "Session not found");
  return session;
}

/** REST sees only sessions whose client is connected. Only an operator sees the sessions of others. */
export function visibleSession(
  { sessions }: Pick<ApiContext, "sessions">,
  { segments, identity }: Pick<RestRequest, "segments" | "identity">,
): Session | undefined {
  const session = sessions.connected(segments.sessionId ?? "");
  const isTheirs = identity.role === "operator" || session?.owner === identity.name;
  return isTheirs ? session : undefined;
}

/**
 * Accepts every notation of a signed 64-bit integer that the published server accepts; the player gets plain digits.
 */
export function readGuildId({ segments }: Pick<RestRequest, "segments">): string {
  const text = (segments.guildId ?? "").replaceAll(/\s/g, "");
  const [, sign, hex, decimal] = /^([+-]?)(?:(?:0[xX]|#)([0-9a-fA-F]{1,16})|(\d{1,40}))$/.exec(text) ?? [];
  if (hex === undefined && decimal === undefined) throw badRequest("the guild id is not an integer");
  const size = BigInt(hex === undefined ? (decimal ?? "") : `0x${hex}`);
  const guildId = sign === "-" ? -size : size;
  if (!isInt64(guildId)) throw badRequest("the guild id does not fit 64 bits");
  return guildId.toString();
}

/** A parameter that is true or false; false where it is missing. Throws the published 400 for anything else. */
export function readSwitch(query: RestRequest["query"], name: string): boolean {
  const text = query.get(name);
  if (text === undefined) return false;
  const value = SWITCHES.get(text.trim().toLowerCase());
  if (value === undefined) throw badRequest(`${name} is neither true nor false`);
  return value;
}
