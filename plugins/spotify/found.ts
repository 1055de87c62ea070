// What is found at Spotify, whichever backend was asked, and how it becomes a track of the node. Pure. Plugin thread.

import type { JsonMembers, SearchList, SourceTrack } from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import { listOf, type Members, membersOf, numberOf, objectsOf, trimmedText } from "../reading/json.ts";
import { listInfo, topTracksOf } from "../reading/list-info.ts";
import type { ItemType } from "./identifier.ts";

export interface FoundTrack {
  /** `LOCAL_ID` for a file of a playlist's owner. */
  readonly id: string;
  readonly title: string;
  readonly author?: string | undefined;
  readonly lengthMs?: number | undefined;
  readonly artworkUrl?: string | undefined;
  readonly isrc?: string | undefined;
  readonly albumName?: string | undefined;
  readonly albumUrl?: string | undefined;
  readonly artistUrl?: string | undefined;
  readonly artistArtworkUrl?: string | undefined;
  readonly previewUrl?: string | undefined;
}

export interface FoundList {
  readonly name: string;
  readonly author?: string | undefined;
  readonly artworkUrl?: string | undefined;
  readonly tracks: readonly FoundTrack[];
  /** Entries that were read, with those that are no tracks or cannot be played. */
  readonly entryCount: number;
  /** Of the whole list, as Spotify says; undefined if that is not known. */
  readonly totalCount?: number | undefined;
}

/** What a search has found, the best first. */
export interface FoundItems {
  readonly tracks: readonly FoundTrack[];
  readonly albums: readonly SearchList[];
  readonly artists: readonly SearchList[];
  readonly playlists: readonly SearchList[];
}

/** As in Lavalink. */
export const LOCAL_ID = "local";
/** Clients read it as a signed number of 32 bits. */
const COUNT_MAX = 2 ** 31 - 1;
const PREVIEW_MS = 30_000;
const PICTURES_MAX = 20;
const ARTISTS_MAX = 100;
/** A day: longer than any track. */
const LENGTH_MS_MAX = 24 * 60 * 60_000;
const ID_IN_URI = /^spotify:(track|album|playlist|artist):([A-Za-z0-9]{1,64})$/;

/** The node's form of a track. */
export function sourceTrackOf(found: FoundTrack, { isPreview }: { readonly isPreview: boolean }): SourceTrack {
  const isLocal = found.id === LOCAL_ID;
  const fields = {
    albumName: found.albumName ?? null,
    albumUrl: found.albumUrl ?? null,
    artistUrl: found.artistUrl ?? null,
    artistArtworkUrl: found.artistArtworkUrl ?? null,
    previewUrl: found.previewUrl ?? null,
    isPreview,
  };
  return {
    identifier: found.id,
    title: found.title,
    author: found.author,
    lengthMs: isPreview ? PREVIEW_MS : found.lengthMs,
    isStream: false,
    uri: isLocal ? null : pageOf("track", found.id),
    artworkUrl: found.artworkUrl ?? null,
    isrc: found.isrc ?? null,
    fields,
    pluginInfo: { ...fields, isLocal },
  };
}

/** `pluginInfo` of a list; its `totalTracks` is null where Spotify does not say how many there are. */
export function listInfoOf(
  { artworkUrl, author, tracks, totalCount: total }: FoundList,
  { type, url }: { readonly type: string; readonly url: string | null },
): JsonMembers {
  const info = listInfo({ type, url, artworkUrl, author, tracks, total });
  return total === undefined ? { ...info, totalTracks: null } : info;
}

/** An artist among the results of a search, named as the list that its page loads. */
export function artistList(name: string, list: Omit<SearchList, "name" | "author">): SearchList {
  return { ...list, name: topTracksOf(name), author: name };
}

/** The page for people. */
export function pageOf(type: ItemType, id: string): string {
  return `https://open.spotify.com/${type}/${id}`;
}

/** The id in `spotify:track:<id>`. */
export function idIn(uri: unknown, type: ItemType): string | undefined {
  const [, foundType, id] = ID_IN_URI.exec(trimmedText(uri) ?? "") ?? [];
  return foundType === type ? id : undefined;
}

/** The page of what a URI names. */
export function pageIn(uri: unknown, type: ItemType): string | undefined {
  const id = idIn(uri, type);
  return id === undefined ? undefined : pageOf(type, id);
}

/** A track with the id in its URI or `id`; a file of the playlist's owner has `LOCAL_ID`. */
export function trackIdOf({ uri, id }: Members): string | undefined {
  if (trimmedText(uri)?.startsWith("spotify:local:") === true) return LOCAL_ID;
  if (uri !== undefined && uri !== null) return idIn(uri, "track");
  return idIn(`spotify:track:${trimmedText(id) ?? ""}`, "track");
}

/** Milliseconds: a number, or `{totalMilliseconds}`. */
export function lengthOf(...values: readonly unknown[]): number | undefined {
  return values
    .map((value) => numberOf(value) ?? numberOf(membersOf(value).totalMilliseconds))
    .find((ms) => ms !== undefined && ms > 0 && ms <= LENGTH_MS_MAX);
}

/** A count of a list's entries: a whole number from 0, cut to `COUNT_MAX`. */
export function countOf(value: unknown): number | undefined {
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  return isCount ? Math.min(value, COUNT_MAX) : undefined;
}

/** Names of artists in a list, with `, ` between them. */
export function joinedNames(artists: readonly (string | undefined)[]): string | undefined {
  const names = artists.filter((name) => name !== undefined);
  return names.length === 0 ? undefined : names.join(", ");
}

/** Artists in one text, as embed pages have them: between them are a comma and a space that does not break. */
export function joinedArtists(subtitle: unknown): string | undefined {
  return trimmedText(subtitle)
    ?.replaceAll(/,[\s\u00a0]+/g, ", ")
    .replaceAll("\u00a0", " ");
}

export function artistsOf(list: unknown): Members[] {
  return objectsOf(list, ARTISTS_MAX);
}

/** The largest of `[{url, width, height}]`; the first where sizes are unknown. */
export function pictureOf(...lists: readonly unknown[]): string | undefined {
  const pictures = lists
    .flatMap((list) => objectsOf(listOf(list), PICTURES_MAX))
    .flatMap((picture) => {
      const url = webLinkOf(picture.url);
      return url === null ? [] : [{ url, size: sizeOf(picture) }];
    });
  return pictures.toSorted((a, b) => b.size - a.size)[0]?.url;
}

function sizeOf({ width, height, maxWidth, maxHeight }: Members): number {
  return numberOf(width) ?? numberOf(height) ?? numberOf(maxWidth) ?? numberOf(maxHeight) ?? 0;
}
