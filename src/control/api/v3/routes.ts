// The routes of v3 and their twins without a version: the handlers of v4, with bodies and answers in the older form
// (protocol-v4.md section 2.11). Main thread.

import { NodeError } from "../../../errors.ts";
import { type LoadResult, loadResultToJson, writtenTracksOf } from "../../sources/load-result.ts";
import type { ApiContext } from "../api-context.ts";
import { ApiError } from "../api-error.ts";
import { answerLoad, decodeMany, decodeOne, infoFor } from "../general-routes.ts";
import { mapList, writtenInto } from "../list-answer.ts";
import { json, type RestAnswer, type RestRequest, type RestRoute } from "../route.ts";
import { routePlannerRoutes } from "../route-planner-routes.ts";
import { destroyPlayer, findSession, getPlayer, listPlayers, updatePlayer } from "../session-routes.ts";
import { playerBodyOfV3, v3PlayerBody, v3SessionBody } from "./bodies.ts";
import { v3DecodedTrack, v3Info, v3LoadResult, v3Player, v3Stats, v3Track, v3WrittenPart } from "./json-forms.ts";

const SESSION_PATH = "/sessions/:sessionId";
const PLAYERS_PATH = `${SESSION_PATH}/players`;
const PLAYER_PATH = `${PLAYERS_PATH}/:guildId`;

/** `/v3/*`, and the older paths without a version; each also with a slash at its end, as Lavalink 3 takes them. */
export function v3Routes(context: ApiContext): readonly RestRoute[] {
  const twins = [...trackRoutes(context), ...plannerRoutes(context)];
  const routes = [
    ...[...aboutNode(context), ...sessionRoutes(context), ...twins].map((route) => under("/v3", route)),
    ...[...twins, pluginsRoute(context)].map((route) => under("", route)),
  ];
  return routes.flatMap((route) => [route, { ...route, path: `${route.path}/` }]);
}

function aboutNode(context: ApiContext): RestRoute[] {
  return [
    {
      method: "GET",
      path: "/info",
      access: "known",
      handle: ({ identity }) => json(v3Info(infoFor(context, identity))),
    },
    { method: "GET", path: "/stats", access: "known", handle: () => json(v3Stats(context.sessions.stats())) },
  ];
}

function pluginsRoute(context: ApiContext): RestRoute {
  return { method: "GET", path: "/plugins", access: "known", handle: () => json(context.readInfo().plugins) };
}

function trackRoutes(context: ApiContext): RestRoute[] {
  return [
    {
      method: "GET",
      path: "/loadtracks",
      handle: (request) => answerLoad(context, request, loadAnswer),
    },
    {
      method: "GET",
      path: "/decodetrack",
      access: "known",
      handle: (request) => json(v3DecodedTrack(decodeOne(request))),
    },
    {
      method: "POST",
      path: "/decodetracks",
      access: "known",
      handle: async (request) => mapList(await decodeMany(context, request), v3Track),
    },
  ];
}

function loadAnswer(result: LoadResult): RestAnswer {
  const value = v3LoadResult(loadResultToJson(result));
  const written = writtenTracksOf(result);
  return written === undefined ? json(value) : writtenInto(value, written.parts, v3WrittenPart);
}

function sessionRoutes(context: ApiContext): RestRoute[] {
  return [
    { method: "PATCH", path: SESSION_PATH, handle: (request) => updateSession(context, request) },
    {
      method: "GET",
      path: PLAYERS_PATH,
      isPlayerList: true,
      handle: (request) => mapList(listPlayers(context, request), v3Player),
    },
    { method: "GET", path: PLAYER_PATH, handle: (request) => json(v3Player(getPlayer(context, request))) },
    { method: "PATCH", path: PLAYER_PATH, handle: (request) => patchPlayer(context, request) },
    { method: "DELETE", path: PLAYER_PATH, handle: (request) => destroyPlayer(context, request) },
  ];
}

function updateSession(context: ApiContext, request: RestRequest): RestAnswer {
  const { resumingKey, timeout } = request.body(v3SessionBody);
  const session = findSession(context, request);
  const resuming = resumingKey === undefined ? undefined : resumingKey !== null;
  session.configure({ resuming, resumeKey: resumingKey, timeout });
  return json({ resumingKey: session.resumeKey, timeout: session.timeout });
}

async function patchPlayer(context: ApiContext, request: RestRequest): Promise<RestAnswer> {
  try {
    return json(v3Player(await updatePlayer(context, request, () => playerBodyOfV3(request.body(v3PlayerBody)))));
  } catch (error) {
    if (!(error instanceof NodeError) || error.code !== "load-failed") throw error;
    throw new ApiError(500, error.message, { cause: error });
  }
}

/** The planner routes of v4, except that the status is an object of nulls without a planner. */
function plannerRoutes(context: ApiContext): RestRoute[] {
  return routePlannerRoutes(context).map((route) => ({
    ...route,
    path: route.path.replace("/v4", ""),
    handle: async (request) => {
      const answer = await route.handle(request);
      const isOff = route.method === "GET" && answer.kind === "empty";
      return isOff ? json({ class: null, details: null }) : answer;
    },
  }));
}

function under(prefix: string, route: RestRoute): RestRoute {
  return { ...route, path: prefix + route.path, apiVersion: "3" };
}
