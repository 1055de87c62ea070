// The routes of Lavalink's plugin LavaLyrics that answer with lyrics (protocol-v4.md section 8.3). Main thread.

import { decodeTrack, type Track } from "../../track/track.ts";
import { allowedSources } from "../access/identity.ts";
import { lyricsSchema, lyricsToJson } from "../protocol/lyrics-json.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { json, type QueryParameter, type RestAnswer, type RestRequest, type RestRoute } from "./route.ts";
import { getPlayer, readSwitch } from "./session-routes.ts";

const SKIP = "skipTrackSource";
const SKIP_PARAMETER: QueryParameter = { name: SKIP, meaning: "The track's own source is not asked.", type: "boolean" };
/** Begins with the text of the plugin. */
const NONE =
  "No lyrics managers registered: set plugins.lavasrc.lyrics-sources.lrcLib: true or plugins.lrclib.enabled: true";

/** `/v4/lyrics` and `…/players/{guildId}/track/lyrics`. */
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
  ];
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
