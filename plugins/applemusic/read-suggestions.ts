// Reads what Apple Music suggests for the first words of a search: other texts, and the best results. Pure. Plugin
// thread.

import type { SearchList, SearchResult, SourceTrack } from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import { type Members, membersOf, objectOf, objectsOf, trimmedText } from "../reading/json.ts";
import { countOf, topTracksOf } from "../reading/list-info.ts";
import { artworkOf, readSong } from "./read-song.ts";

const SUGGESTIONS_MAX = 100;

/** Undefined: the answer has another form. */
export function readSuggestions({ results }: Members): SearchResult | undefined {
  const found = objectOf(results);
  const suggestions = found?.suggestions ?? [];
  if (found === undefined || !Array.isArray(suggestions)) return undefined;
  const entries = objectsOf(suggestions, SUGGESTIONS_MAX);
  const of = <Item>(type: string, read: (content: Members) => Item | undefined): Item[] =>
    entries
      .map(({ content }) => membersOf(content))
      .filter((content) => content.type === type)
      .flatMap((content) => read(content) ?? []);
  return {
    tracks: of<SourceTrack>("songs", (song) => readSong(song, { isPreview: false })),
    albums: of("albums", (album) => readList(album, "artistName")),
    artists: of("artists", readArtist),
    playlists: of("playlists", (playlist) => readList(playlist, "curatorName")),
    texts: entries.flatMap(({ kind, searchTerm }) => {
      const text = kind === "terms" ? trimmedText(searchTerm) : undefined;
      return text === undefined ? [] : { text };
    }),
  };
}

function readList({ attributes }: Members, authorName: "artistName" | "curatorName"): SearchList | undefined {
  const json = membersOf(attributes);
  const [name, url] = [trimmedText(json.name), webLinkOf(json.url)];
  if (name === undefined || url === null) return undefined;
  const author = trimmedText(json[authorName]);
  return { name, url, artworkUrl: artworkOf(json.artwork) ?? undefined, author, totalTracks: countOf(json.trackCount) };
}

/** Named as the list that the artist's page loads. */
function readArtist(artist: Members): SearchList | undefined {
  const list = readList(artist, "artistName");
  return list && { ...list, name: topTracksOf(list.name), author: list.name };
}
