// Reads the answers of Spotify's Web API (api.spotify.com/v1). Pure. Plugin thread.

import type { SearchList } from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import { listOf, type Members, membersOf, objectsOf, trimmedText } from "../reading/json.ts";
import {
  artistList,
  artistsOf,
  countOf,
  type FoundItems,
  type FoundList,
  type FoundTrack,
  joinedNames,
  LOCAL_ID,
  lengthOf,
  pageIn,
  pictureOf,
  trackIdOf,
} from "./found.ts";
import type { ItemType } from "./identifier.ts";

const RESULTS_MAX = 100;

/** Undefined: the answer is no track. */
export function readApiTrack(track: Members): FoundTrack | undefined {
  const id = trackIdOf(track);
  const title = trimmedText(track.name);
  if (id === undefined || id === LOCAL_ID || title === undefined) return undefined;
  const album = membersOf(track.album);
  const artists = artistsOf(track.artists);
  return {
    id,
    title,
    author: namesOf(track.artists),
    lengthMs: lengthOf(track.duration_ms),
    artworkUrl: pictureOf(album.images),
    isrc: trimmedText(membersOf(track.external_ids).isrc),
    albumName: trimmedText(album.name),
    albumUrl: urlOf(album, "album"),
    artistUrl: urlOf(artists[0] ?? {}, "artist"),
    artistArtworkUrl: pictureOf(artists[0]?.images),
    previewUrl: webLinkOf(track.preview_url) ?? undefined,
  };
}

/** Undefined: the answer has another form. */
export function readApiSearch({ tracks, albums, artists, playlists }: Members): FoundItems | undefined {
  if ([tracks, albums, artists, playlists].every((list) => !Array.isArray(membersOf(list).items))) return undefined;
  const read = <Item>(list: unknown, readItem: (item: Members) => Item | undefined): Item[] =>
    objectsOf(membersOf(list).items, RESULTS_MAX).flatMap((entry) => readItem(entry) ?? []);
  return {
    tracks: read(tracks, readApiTrack),
    albums: read(albums, (album) => readList(album, "album", { author: namesOf(album.artists) })),
    artists: read(artists, (artist) => {
      const list = readList(artist, "artist", {});
      return list && artistList(list.name, list);
    }),
    playlists: read(playlists, (playlist) => {
      const author = trimmedText(membersOf(playlist.owner).display_name);
      const total = membersOf(playlist.tracks).total ?? membersOf(playlist.items).total;
      return readList({ total_tracks: total, ...playlist }, "playlist", { author });
    }),
  };
}

function readList(
  list: Members,
  type: Exclude<ItemType, "track">,
  { author }: { readonly author?: string | undefined },
): SearchList | undefined {
  const [name, url] = [trimmedText(list.name), urlOf(list, type)];
  if (name === undefined || url === undefined) return undefined;
  return { name, url, artworkUrl: pictureOf(list.images), author, totalTracks: countOf(list.total_tracks) };
}

/** An album with its first tracks. Undefined: the answer is no album. */
export function readApiAlbum(album: Members, entriesMax: number): FoundList | undefined {
  const name = trimmedText(album.name);
  if (name === undefined) return undefined;
  const page = readApiTracks(album, membersOf(album.tracks), entriesMax);
  if (page === undefined) return undefined;
  const artworkUrl = pictureOf(album.images);
  const totalCount = page.totalCount ?? countOf(album.total_tracks);
  return { name, author: namesOf(album.artists), artworkUrl, ...page, totalCount };
}

/** A page of an album's tracks, which do not say what album they are of. Undefined: the answer has another form. */
export function readApiTracks(
  album: Members,
  { items, total }: Members,
  entriesMax: number,
): Pick<FoundList, "tracks" | "entryCount" | "totalCount"> | undefined {
  if (!Array.isArray(items)) return undefined;
  const entries = listOf(items).slice(0, entriesMax);
  return {
    tracks: entries.flatMap((entry) => readApiTrack({ ...membersOf(entry), album }) ?? []),
    entryCount: entries.length,
    totalCount: countOf(total),
  };
}

function namesOf(artists: unknown): string | undefined {
  return joinedNames(artistsOf(artists).map(({ name }) => trimmedText(name)));
}

function urlOf({ uri, external_urls: urls }: Members, type: Exclude<ItemType, "track">): string | undefined {
  return webLinkOf(membersOf(urls).spotify) ?? pageIn(uri, type);
}
