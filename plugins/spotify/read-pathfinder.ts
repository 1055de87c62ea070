// Reads the answers of the web player's interface (the item that they are about), of each operation. Pure. Plugin thread.

import type { SearchList } from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import { type Members, membersOf, objectOf, objectsOf, trimmedText } from "../reading/json.ts";
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
import type { ReadListOptions } from "./read-embed.ts";

const RESULTS_MAX = 100;

/** Reads a page of a list. Undefined: it has another form. */
type ListReader = (list: Members, options: ReadListOptions) => FoundList | undefined;

/** A page of a playlist. */
export const readPlaylist: ListReader = (playlist, options) => {
  const { items, totalCount } = membersOf(playlist.content);
  const [cover] = objectsOf(membersOf(playlist.images).items, 1);
  const entries = entriesOf(items, (entry) => membersOf(entry.itemV2).data, options.entriesMax);
  if (entries === undefined) return undefined;
  return {
    name: trimmedText(playlist.name) ?? "Unknown playlist",
    author: trimmedText(membersOf(membersOf(playlist.ownerV2).data).name),
    artworkUrl: pictureOf(cover?.sources),
    tracks: entries.flatMap((entry) => tracksIn(entry, options)),
    entryCount: entries.length,
    totalCount: countOf(totalCount),
  };
};

/** A page of an album. */
export const readAlbum: ListReader = (album, options) => {
  const { items, totalCount } = membersOf(album.tracksV2 ?? album.tracks);
  const name = trimmedText(album.name) ?? "Unknown album";
  const artworkUrl = coverOf(album);
  const albumUrl = pageIn(album.uri, "album");
  const entries = entriesOf(items, ({ track }) => track, options.entriesMax);
  if (entries === undefined) return undefined;
  return {
    name,
    author: namesOf(album.artists),
    artworkUrl,
    tracks: entries
      .flatMap((entry) => tracksIn(entry, options))
      .map((track) => ({
        ...track,
        albumName: track.albumName ?? name,
        albumUrl: track.albumUrl ?? albumUrl,
        artworkUrl: track.artworkUrl ?? artworkUrl,
      })),
    entryCount: entries.length,
    totalCount: countOf(totalCount),
  };
};

/** An artist with the top tracks; the name is the artist's. */
export const readArtist: ListReader = (artist, options) => {
  const { items } = membersOf(membersOf(artist.discography).topTracks);
  const name = trimmedText(membersOf(artist.profile).name) ?? "Unknown artist";
  const entries = entriesOf(items, ({ track }) => track, options.entriesMax);
  if (entries === undefined) return undefined;
  return {
    name,
    author: name,
    artworkUrl: pictureOf(membersOf(membersOf(artist.visuals).avatarImage).sources),
    tracks: entries.flatMap((entry) => tracksIn(entry, options)),
    entryCount: entries.length,
    totalCount: entries.length,
  };
};

/** Undefined: the answer has another form; kinds without a list have found nothing. */
export function readSearch({ tracksV2, albumsV2, artists, playlists }: Members): FoundItems | undefined {
  const itemsOf = (list: unknown): unknown => membersOf(list).items;
  if ([tracksV2, albumsV2, artists, playlists].every((list) => !Array.isArray(itemsOf(list)))) return undefined;
  const tracks = entriesOf(itemsOf(tracksV2) ?? [], ({ item }) => membersOf(item).data, RESULTS_MAX);
  if (tracks === undefined) return undefined;
  const lists = (list: unknown, readItem: (item: Members) => SearchList | undefined): SearchList[] =>
    (entriesOf(itemsOf(list), ({ data }) => data, RESULTS_MAX) ?? []).flatMap((item) => readItem(item) ?? []);
  return {
    tracks: tracks.flatMap((entry) => readTrack(entry) ?? []),
    albums: lists(albumsV2, readFoundAlbum),
    artists: lists(artists, readFoundArtist),
    playlists: lists(playlists, readFoundPlaylist),
  };
}

function readFoundAlbum(album: Members): SearchList | undefined {
  const [name, url] = [trimmedText(album.name), pageIn(album.uri, "album")];
  if (name === undefined || url === undefined) return undefined;
  return { name, url, artworkUrl: coverOf(album), author: namesOf(album.artists) };
}

function readFoundArtist({ profile, uri, visuals }: Members): SearchList | undefined {
  const [name, url] = [trimmedText(membersOf(profile).name), pageIn(uri, "artist")];
  if (name === undefined || url === undefined) return undefined;
  return artistList(name, { url, artworkUrl: pictureOf(membersOf(membersOf(visuals).avatarImage).sources) });
}

function readFoundPlaylist({ name: nameJson, uri, images, ownerV2 }: Members): SearchList | undefined {
  const [name, url] = [trimmedText(nameJson), pageIn(uri, "playlist")];
  if (name === undefined || url === undefined) return undefined;
  const [cover] = objectsOf(membersOf(images).items, 1);
  const author = trimmedText(membersOf(membersOf(ownerV2).data).name);
  return { name, url, artworkUrl: pictureOf(cover?.sources), author };
}

/** Undefined: the answer has another form. */
export function readRecommendations({ items }: Members): FoundTrack[] | undefined {
  const entries = entriesOf(items, ({ content, data }) => objectOf(membersOf(content).data) ?? data, RESULTS_MAX);
  return entries?.flatMap((entry) => readTrack(entry) ?? []);
}

/** What the entries of a list contain. Undefined: it is no list, or nothing is where it is expected. */
function entriesOf(items: unknown, contentOf: (entry: Members) => unknown, entriesMax: number): Members[] | undefined {
  if (!Array.isArray(items)) return undefined;
  const contents = items.slice(0, entriesMax).map((entry) => objectOf(contentOf(membersOf(entry))));
  if (contents.length > 0 && contents.every((content) => content === undefined)) return undefined;
  return contents.map(membersOf);
}

/** Those that Spotify does not play to this node are mirrored like the others. */
function tracksIn(entry: Members, { localFiles }: ReadListOptions): FoundTrack[] {
  const track = readTrack(entry);
  return track === undefined || (track.id === LOCAL_ID && !localFiles) ? [] : [track];
}

/** Undefined: it is no track. */
export function readTrack(track: Members): FoundTrack | undefined {
  const id = trackIdOf(track);
  const title = trimmedText(track.name);
  if (id === undefined || title === undefined) return undefined;
  const album = membersOf(track.albumOfTrack);
  const artists = artistsIn(track);
  return {
    id,
    title,
    author: joinedNames(artists.map(nameOf)),
    lengthMs: lengthOf(track.duration, track.trackDuration, track.duration_ms),
    artworkUrl: coverOf(album),
    isrc: trimmedText(membersOf(track.externalIds).isrc),
    albumName: trimmedText(album.name),
    albumUrl: pageIn(album.uri, "album"),
    artistUrl: pageIn(artists[0]?.uri, "artist"),
    artistArtworkUrl: pictureOf(membersOf(membersOf(artists[0]?.visuals).avatarImage).sources),
    previewUrl: previewOf(track),
  };
}

function artistsIn({ artists, firstArtist, otherArtists }: Members): Members[] {
  const all = artistsOf(membersOf(artists).items);
  if (all.length > 0) return all;
  return [firstArtist, otherArtists].flatMap((list) => artistsOf(membersOf(list).items));
}

function nameOf({ profile, name }: Members): string | undefined {
  return trimmedText(membersOf(profile).name) ?? trimmedText(name);
}

function namesOf(artists: unknown): string | undefined {
  return joinedNames(artistsOf(membersOf(artists).items).map(nameOf));
}

function coverOf({ coverArt }: Members): string | undefined {
  return pictureOf(membersOf(coverArt).sources);
}

function previewOf({ previews }: Members): string | undefined {
  const [first] = objectsOf(membersOf(membersOf(previews).audioPreviews).items, 1);
  return webLinkOf(first?.url) ?? undefined;
}
