// The route of Lavalink's plugin LavaSearch (protocol-v4.md section 8.3). Main thread.

import type { FoundList } from "../../bridge/plugin-extensions.ts";
import type { SearchType } from "../../plugin-api/plugin.ts";
import { trackToJson } from "../../track/track.ts";
import { isWritten } from "../../track/written-tracks.ts";
import { allowedSources } from "../access/identity.ts";
import type { PlaylistJson } from "../protocol/load-result-json.ts";
import { type SearchJson, searchSchema } from "../protocol/search-json.ts";
import type { FoundItems } from "../sources/found-items.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { writtenInto } from "./list-answer.ts";
import { json, type RestAnswer, type RestRequest, type RestRoute } from "./route.ts";

const TYPES: readonly SearchType[] = ["track", "album", "artist", "playlist", "text"];
/** Begins with the text of the plugin. */
const NONE =
  "No search managers registered: no source of this node has a search; set lavalink.server.sources.soundcloud: true";

/** `/v4/loadsearch`. */
export function searchRoutes({ searches }: Pick<ApiContext, "searches">): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/v4/loadsearch",
      handle: (request) => search(searches, request),
      description: {
        summary: "Searches for tracks, albums, artists, playlists and texts.",
        query: [
          { name: "query", meaning: "Words behind the prefix of a search.", type: "string", isRequired: true },
          {
            name: "types",
            meaning: "Of `track`, `album`, `artist`, `playlist`, `text`, with commas; all without.",
            type: "string",
          },
        ],
        answers: { 200: searchSchema, 204: "empty" },
        errors: [400, 500, 503],
      },
    },
  ];
}

async function search(searches: ApiContext["searches"], request: RestRequest): Promise<RestAnswer> {
  const query = request.query.get("query");
  if (query === undefined) throw new ApiError(400, "Required parameter 'query' is not present.");
  if (!searches.isAvailable) throw new ApiError(500, NONE);
  const { owner, signal, identity } = request;
  const types = typesOf(request.query.get("types"));
  const found = await searches.search(query, { types, owner, signal, allowed: allowedSources(identity) });
  if (found === undefined || isEmpty(found)) return { kind: "empty", status: 204 };
  const { tracks } = found;
  const value: SearchJson = {
    albums: found.albums.map(listToJson),
    artists: found.artists.map(listToJson),
    playlists: found.playlists.map(listToJson),
    texts: found.texts.map(({ text, pluginInfo }) => ({ text, plugin: pluginInfo })),
    plugin: {},
    // Last, where tracks that are written already find their place.
    tracks: isWritten(tracks) ? [] : tracks.map(trackToJson),
  };
  return isWritten(tracks) ? writtenInto(value, tracks.parts) : json(value);
}

/** All where none is named. Unknown names are ignored, as the published plugin does. */
function typesOf(text: string | undefined): readonly SearchType[] {
  const names = (text ?? "").split(",").map((name) => name.trim().toLowerCase());
  const types = TYPES.filter((type) => names.includes(type));
  return types.length > 0 ? types : TYPES;
}

function isEmpty({ tracks, albums, artists, playlists, texts }: FoundItems): boolean {
  const trackCount = isWritten(tracks) ? tracks.count : tracks.length;
  return trackCount + albums.length + artists.length + playlists.length + texts.length === 0;
}

function listToJson({ name, pluginInfo }: FoundList): PlaylistJson {
  return { info: { name, selectedTrack: -1 }, pluginInfo, tracks: [] };
}
