// Reads the answers of the web player's interface (the member `data`), of each operation. Pure. Plugin thread.

import type { SearchList } from "../../src/plugin-api/plugin.ts";
import { listOf, type Members, membersOf, objectOf, objectsOf, trimmedText } from "../reading/json.ts";
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
  webAddressOf,
} from "./found.ts";
import type { ReadListOptions } from "./read-embed.ts";

const RESULTS_MAX = 100;

/** What a page of a list is about. */
type ListReader = (data: Members, options: ReadListOptions) => FoundList | undefined;

/** Undefined: there is no such track. */
export function readTrackUnion({ trackUnion }: Members): FoundTrack | undefined {
  const track = objectOf(trackUnion);
  return track === undefined || isMissing(track) ? undefined : readTrack(track);
}

/** A page of a playlist. Undefined: there is no such playlist. */
export const readPlaylist: ListReader = ({ playlistV2 }, options) => {
  const playlist = objectOf(playlistV2);
  if (playlist === undefined || isMissing(playlist)) return undefined;
  const { items, totalCount } = membersOf(playlist.content);
  const [cover] = objectsOf(membersOf(playlist.images).items, 1);
  const entries = listOf(items).slice(0, options.entriesMax);
  return {
    name: trimmedText(playlist.name) ?? "Unknown playlist",
    author: trimmedText(membersOf(membersOf(playlist.ownerV2).data).name),
    artworkUrl: pictureOf(cover?.sources),
    tracks: entries.flatMap((entry) => tracksIn(membersOf(membersOf(entry).itemV2).data, options)),
    entryCount: entries.length,
    totalCount: countOf(totalCount),
  };
};

/** A page of an album. Undefined: there is no such album. */
export const readAlbum: ListReader = ({ albumUnion }, options) => {
  const album = objectOf(albumUnion);
  if (album === undefined || isMissing(album)) return undefined;
  const { items, totalCount } = membersOf(album.tracksV2 ?? album.tracks);
  const name = trimmedText(album.name) ?? "Unknown album";
  const artworkUrl = coverOf(album);
  const albumUrl = pageIn(album.uri, "album");
  const entries = listOf(items).slice(0, options.entriesMax);
  return {
    name,
    author: namesOf(album.artists),
    artworkUrl,
    tracks: entries
      .flatMap((entry) => tracksIn(membersOf(entry).track, options))
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

/** An artist with the top tracks; the name is the artist's. Undefined: there is no such artist. */
export const readArtist: ListReader = ({ artistUnion }, options) => {
  const artist = objectOf(artistUnion);
  if (artist === undefined || isMissing(artist)) return undefined;
  const { items } = membersOf(membersOf(artist.discography).topTracks);
  const name = trimmedText(membersOf(artist.profile).name) ?? "Unknown artist";
  const entries = listOf(items).slice(0, options.entriesMax);
  return {
    name,
    author: name,
    artworkUrl: pictureOf(membersOf(membersOf(artist.visuals).avatarImage).sources),
    tracks: entries.flatMap((entry) => tracksIn(membersOf(entry).track, options)),
    entryCount: entries.length,
  };
};

/** Undefined: the answer has another form. */
export function readSearch({ searchV2 }: Members): FoundItems | undefined {
  const found = objectOf(searchV2);
  if (found === undefined) return undefined;
  const read = <Item>(list: unknown, readItem: (item: Members) => Item | undefined): Item[] =>
    objectsOf(membersOf(list).items, RESULTS_MAX).flatMap(
      (entry) => readItem(membersOf(entry.data ?? membersOf(entry.item).data)) ?? [],
    );
  return {
    tracks: read(found.tracksV2, readTrack),
    albums: read(found.albumsV2 ?? found.albums, readFoundAlbum),
    artists: read(found.artists, readFoundArtist),
    playlists: read(found.playlists, readFoundPlaylist),
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
  return {
    name,
    url,
    artworkUrl: pictureOf(cover?.sources),
    author: trimmedText(membersOf(membersOf(ownerV2).data).name),
  };
}

/** Undefined: the answer has another form. */
export function readRecommendations(data: Members): FoundTrack[] | undefined {
  const found = objectOf(data.internalLinkRecommenderTrack) ?? objectOf(data.seoRecommendedTrack);
  if (found === undefined) return undefined;
  const entries = objectsOf(found.items, RESULTS_MAX);
  return entries.flatMap((entry) => readTrack(objectOf(membersOf(entry.content).data) ?? membersOf(entry.data)) ?? []);
}

function tracksIn(value: unknown, { localFiles }: ReadListOptions): FoundTrack[] {
  const entry = membersOf(value);
  if (membersOf(entry.playability).playable === false) return [];
  const track = readTrack(entry);
  return track === undefined || (track.id === LOCAL_ID && !localFiles) ? [] : [track];
}

function readTrack(track: Members): FoundTrack | undefined {
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
  return webAddressOf(first?.url);
}

function isMissing({ __typename: type }: Members): boolean {
  return type === "NotFound" || type === "GenericError" || type === "RestrictedContent";
}
