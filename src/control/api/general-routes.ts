// Routes about the node itself and about tracks (protocol-v4.md sections 2.1, 2.3 and 2.4). Main thread.

import { loadResultToJson } from "../sources/load-result.ts";
import { decodeTrack, trackToJson } from "../sources/track.ts";
import { preferred } from "./accept.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { PROTOCOL_VERSION } from "./info-json.ts";
import { decodeTracksBody } from "./request-bodies.ts";
import type { RestAnswer, RestRequest, RestRoute } from "./rest-server.ts";

const PLAIN_TEXT = "text/plain;charset=ISO-8859-1";

export function generalRoutes(context: ApiContext): readonly RestRoute[] {
  return [
    { method: "GET", path: "/version", isOpen: true, handle: answerVersion },
    { method: "GET", path: "/v4/info", handle: () => ({ kind: "json", value: context.readInfo() }) },
    { method: "GET", path: "/v4/stats", handle: () => ({ kind: "json", value: context.sessions.stats() }) },
    { method: "GET", path: "/v4/loadtracks", handle: (request) => answerLoadTracks(context, request) },
    { method: "GET", path: "/v4/decodetrack", handle: answerDecodeTrack },
    { method: "POST", path: "/v4/decodetracks", handle: answerDecodeTracks },
    // Where older clients look first: something is here, but not what they speak.
    { method: "GET", path: "/", handle: () => ({ kind: "empty", status: 200 }) },
    { method: "GET", path: "/v3/websocket", handle: () => ({ kind: "empty", status: 200 }) },
  ];
}

function answerVersion({ headers }: RestRequest): RestAnswer {
  const isJson = preferred(headers.accept ?? "*/*", ["text/plain", "application/json"]) === "application/json";
  return {
    kind: "text",
    status: 200,
    text: PROTOCOL_VERSION,
    contentType: isJson ? "application/json" : PLAIN_TEXT,
  };
}

async function answerLoadTracks(context: ApiContext, { query }: RestRequest): Promise<RestAnswer> {
  const identifier = query.get("identifier");
  if (identifier === undefined) throw new ApiError(400, "Required parameter 'identifier' is not present.");
  return { kind: "json", value: loadResultToJson(await context.tracks.load(identifier)) };
}

function answerDecodeTrack({ query }: RestRequest): RestAnswer {
  const encoded = query.get("encodedTrack") ?? query.get("track");
  if (encoded === undefined) throw new ApiError(400, "No track to decode provided");
  return { kind: "json", value: trackToJson(decodeTrack(encoded)) };
}

function answerDecodeTracks(request: RestRequest): RestAnswer {
  const encodedTracks = request.body(decodeTracksBody);
  if (encodedTracks.length === 0) throw new ApiError(400, "No tracks to decode provided");
  return { kind: "json", value: encodedTracks.map((encoded) => trackToJson(decodeTrack(encoded))) };
}
