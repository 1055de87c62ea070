// The routes of Lavalink's plugin LavaLyrics that answer with lyrics (protocol-v4.md section 8.3). Main thread.

import { decodeTrack, type Track } from "../../track/track.ts";
import { allowedSources } from "../access/identity.ts";
import { lyricsSchema, lyricsToJson } from "../protocol/lyrics-json.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionPlayer } from "../sessions/session-player.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { json, type QueryParameter, type RestAnswer, type RestRequest, type RestRoute } from "./route.ts";
import { getPlayer, readGuildId, readSwitch, visibleSession } from "./session-routes.ts";

const SUBSCRIPTION_PATH = "/v4/sessions/:sessionId/players/:guildId/lyrics/subscribe";
const SKIP = "skipTrackSource";
const SKIP_PARAMETER: QueryParameter = { name: SKIP, meaning: "The track's own source is not asked.", type: "boolean" };
/** Begins with the text of the plugin. */
const NONE =
  "No lyrics managers registered: set plugins.lavasrc.lyrics-sources.lrcLib: true or plugins.lrclib.enabled: true";

/** `/v4/lyrics`, `…/players/{guildId}/track/lyrics` and `…/players/{guildId}/lyrics/subscribe`. */
export function lyricsRoutes(context: ApiContext): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/v4/lyrics",
      handle: (request) => answerLyrics(context, request, trackIn(request)),
      description: {
        summary: "The lyrics of a track.",
        query: [
          { name: "track", meaning: "The encoded track, with `+` as `%2B`.", type: "string", isRequired: true },
          SKIP_PARAMETER,
        ],
        answers: { 200: lyricsSchema, 204: "empty" },
        errors: [400, 500, 503],
      },
    },
    {
      method: "GET",
      path: "/v4/sessions/:sessionId/players/:guildId/track/lyrics",
      handle: (request) => answerLyrics(context, request, trackPlaying(context, request)),
      description: {
        summary: "The lyrics of the track that a player plays.",
        query: [SKIP_PARAMETER],
        answers: { 200: lyricsSchema, 204: "empty" },
        errors: [500, 503],
      },
    },
    {
      method: "POST",
      path: SUBSCRIPTION_PATH,
      handle: (request) => subscribe(context, request),
      description: {
        summary: "Sends the lyrics of each track of a player as events, and each line at its time.",
        query: [SKIP_PARAMETER],
        answers: { 204: "empty" },
        errors: [500],
      },
    },
    {
      method: "DELETE",
      path: SUBSCRIPTION_PATH,
      handle: (request) => unsubscribe(context, request),
      description: { summary: "Ends the subscription to lyrics, if there is one.", answers: { 204: "empty" } },
    },
  ];
}

/** As the plugin answers: an unknown session is no error. */
function subscribe(context: ApiContext, request: RestRequest): RestAnswer {
  const isSourceSkipped = readSwitch(request.query, SKIP);
  const { session, player } = subscriberOf(context, request);
  if (session === undefined) return { kind: "empty", status: 204 };
  if (player === undefined) throw new ApiError(404, "Player not found");
  if (!context.lyrics.isAvailable) throw new ApiError(500, NONE);
  context.lyricsSubscriptions.subscribe(session, player, { isSourceSkipped });
  return { kind: "empty", status: 204 };
}

function unsubscribe(context: ApiContext, request: RestRequest): RestAnswer {
  const { session, player } = subscriberOf(context, request);
  if (session !== undefined && player !== undefined) context.lyricsSubscriptions.unsubscribe(session, player);
  return { kind: "empty", status: 204 };
}

/** Undefined: there is none that the client may use. Throws 400 for what is no guild id. */
function subscriberOf(
  context: ApiContext,
  request: RestRequest,
): { readonly session?: Session; readonly player?: SessionPlayer | undefined } {
  const guildId = readGuildId(request);
  const session = visibleSession(context, request);
  return session === undefined ? {} : { session, player: session.players.get(guildId) };
}

async function answerLyrics({ lyrics }: ApiContext, request: RestRequest, track: Track): Promise<RestAnswer> {
  const isSourceSkipped = readSwitch(request.query, SKIP);
  if (!lyrics.isAvailable) throw new ApiError(500, NONE);
  const { owner, signal, identity } = request;
  const found = await lyrics.find(track, { isSourceSkipped, owner, signal, allowed: allowedSources(identity) });
  return found === undefined ? { kind: "empty", status: 204 } : json(lyricsToJson(found));
}

function trackIn({ query }: RestRequest): Track {
  const encoded = query.get("track");
  if (encoded === undefined) throw new ApiError(400, "Required parameter 'track' is not present.");
  // A `+` that was sent as it is arrives as a space, which no encoded track holds.
  return decodeTrack(encoded.replaceAll(" ", "+"));
}

function trackPlaying(context: ApiContext, request: RestRequest): Track {
  const { track } = getPlayer(context, request);
  if (track === null) throw new ApiError(404, "No track playing");
  return decodeTrack(track.encoded);
}
