// Routes about the node itself and about tracks (protocol-v4.md sections 2.1, 2.3 and 2.4). Main thread.

import { accountOf } from "../../lib/owners.ts";
import type { LogFields } from "../../log/log.ts";
import { decodeTrack, trackToJson } from "../../track/track.ts";
import type { TrackJson } from "../../track/track-info.ts";
import { allowedSources, type Identity } from "../access/identity.ts";
import { type InfoJson, infoSchema } from "../protocol/info-json.ts";
import { loadResultSchema } from "../protocol/load-result-json.ts";
import { orOfMachines } from "../protocol/machine-answers-json.ts";
import { PROTOCOL_VERSION } from "../protocol/protocol-version.ts";
import { statsSchema } from "../protocol/stats-json.ts";
import { trackSchema, tracksSchema } from "../protocol/track-json.ts";
import { type LoadResult, loadResultToJson, trackCountOf, writtenTracksOf } from "../sources/load-result.ts";
import { preferred } from "./accept.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { type ListAnswer, listOf, writtenInto } from "./list-answer.ts";
import { decodeTracksBody } from "./request-bodies.ts";
import { json, MACHINES_PARAMETER, type RestAnswer, type RestRequest, type RestRoute } from "./route.ts";
import { statsOfMachines } from "./stats-of-machines.ts";

/** Characters of an error that are logged. */
const REASON_LENGTH_MAX = 500;
const PLAIN_TEXT = "text/plain;charset=ISO-8859-1";

/**
 * `/version`, `/v4/info`, `/v4/stats`, `/v4/loadtracks`, `/v4/decodetrack(s)`, and `/`, which older clients request.
 */
export function generalRoutes(context: ApiContext): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/version",
      access: "open",
      handle: answerVersion,
      description: { summary: "The Lavalink release whose protocol the node speaks.", answers: { 200: "text" } },
    },
    {
      method: "GET",
      path: "/v4/info",
      access: "known",
      handle: ({ identity }) => json(infoFor(context, identity)),
      description: { summary: "Version, sources, filters and plugins of the node.", answers: { 200: infoSchema } },
    },
    {
      method: "GET",
      path: "/v4/stats",
      access: "known",
      handle: () => json(context.sessions.stats()),
      ofMachines: statsOfMachines,
      description: {
        summary: "How the node is doing.",
        query: [MACHINES_PARAMETER],
        answers: { 200: orOfMachines(statsSchema, statsSchema.shape) },
        errors: [400],
      },
    },
    {
      method: "GET",
      path: "/v4/loadtracks",
      handle: (request) => answerLoad(context, request, loadAnswer),
      description: {
        summary: "Looks an identifier up. A failure to load is an answer too.",
        query: [{ name: "identifier", meaning: "A URL, a path, or a search.", type: "string", isRequired: true }],
        answers: { 200: loadResultSchema },
        errors: [400],
      },
    },
    {
      method: "GET",
      path: "/v4/decodetrack",
      access: "known",
      handle: (request) => json(decodeOne(request)),
      description: {
        summary: "Decodes an encoded track.",
        query: [
          { name: "encodedTrack", meaning: "The encoded track, with `+` as `%2B`.", type: "string", isRequired: true },
          { name: "track", meaning: "The old name of `encodedTrack`.", type: "string" },
        ],
        answers: { 200: trackSchema },
        errors: [400],
      },
    },
    {
      method: "POST",
      path: "/v4/decodetracks",
      access: "known",
      handle: (request) => decodeMany(context, request),
      description: {
        summary: "Decodes several encoded tracks, in their order.",
        body: decodeTracksBody,
        answers: { 200: tracksSchema },
      },
    },
    // Where older clients look first: something is here, but not what they speak.
    { method: "GET", path: "/", access: "known", handle: () => ({ kind: "empty", status: 200 }) },
    { method: "GET", path: "/v3/websocket", access: "known", handle: () => ({ kind: "empty", status: 200 }) },
  ];
}

/**
 * The handler for v4 and v3. It lists only the sources and filters that the client may use: libraries request no others
 * then.
 */
export function infoFor({ readInfo }: Pick<ApiContext, "readInfo">, { limits }: Identity): InfoJson {
  const info = readInfo();
  const { sources, filters } = limits;
  return {
    ...info,
    sourceManagers: info.sourceManagers.filter((name) => sources?.has(name.toLowerCase()) ?? true),
    filters: info.filters.filter((name) => filters?.has(name) ?? true),
  };
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

/**
 * The handler for v4 and v3. A failure to load is an answer (`loadType` "error"), made by `write` as all are.
 * @throws ApiError 400 without an identifier; NodeError "key-forbidden" for a source that the client may not use; the
 *   reason of `signal` when the client has disconnected
 */
export async function answerLoad(
  context: ApiContext,
  request: RestRequest,
  write: (result: LoadResult) => RestAnswer,
): Promise<RestAnswer> {
  const identifier = request.query.get("identifier");
  if (identifier === undefined) throw new ApiError(400, "Required parameter 'identifier' is not present.");
  const { owner, signal, identity } = request;
  let source: string | undefined;
  const onSource = (name: string): void => {
    source = name;
  };
  const result = await context.tracks.load(identifier, { owner, signal, allowed: allowedSources(identity), onSource });
  return { ...write(result), logged: fieldsOf(result, source) };
}

/** `source`: where the result is from. */
function fieldsOf(result: LoadResult, source: string | undefined): LogFields {
  return {
    loadType: result.kind,
    tracks: trackCountOf(result),
    ...(source === undefined ? {} : { source }),
    ...(result.kind === "error" ? { reason: result.error.message.slice(0, REASON_LENGTH_MAX) } : {}),
  };
}

function loadAnswer(result: LoadResult): RestAnswer {
  const value = loadResultToJson(result);
  const written = writtenTracksOf(result);
  return written === undefined ? json(value) : writtenInto(value, written.parts);
}

/**
 * The handler for v4 and v3.
 * @throws ApiError 400 without a track, NodeError "track-undecodable"
 */
export function decodeOne({ query }: RestRequest): TrackJson {
  const encoded = query.get("encodedTrack") ?? query.get("track");
  if (encoded === undefined) throw new ApiError(400, "No track to decode provided");
  // A `+` that was sent as it is arrives as a space, which no encoded track holds.
  return trackToJson(decodeTrack(encoded.replaceAll(" ", "+")));
}

/**
 * Each is decoded twice, to know that all can be before the answer begins, and for the answer: a long one is never
 * whole.
 */
export async function decodeMany({ slicer }: ApiContext, request: RestRequest): Promise<ListAnswer> {
  const encodedTracks = request.body(decodeTracksBody);
  if (encodedTracks.length === 0) throw new ApiError(400, "No tracks to decode provided");
  let slice = slicer.begun();
  for (const encoded of encodedTracks) {
    if (slice.isOver) slice = await slicer.next(accountOf(request.owner));
    decodeTrack(encoded);
  }
  return listOf(encodedTracks, (encoded) => trackToJson(decodeTrack(encoded)));
}
