// Reads Spotify's embed pages (open.spotify.com/embed/…): the item of the page, with at most 100 tracks of a list, and
// the session of the page's visitor, whose token the web player's interface accepts. Pure. Plugin thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";
import { listOf, type Members, membersOf, numberOf, objectOf, trimmedText } from "../reading/json.ts";
import {
  artistsOf,
  type FoundList,
  type FoundTrack,
  joinedArtists,
  joinedNames,
  LOCAL_ID,
  lengthOf,
  pageIn,
  pageOf,
  pictureOf,
  trackIdOf,
  webAddressOf,
} from "./found.ts";
import type { Item } from "./identifier.ts";

/** A token of the web player. */
export interface Session {
  readonly token: string;
  /** Epoch milliseconds; undefined: not said. */
  readonly expiresAtMs: number | undefined;
}

export interface EmbedPage {
  /** Undefined: there is no such item. */
  readonly entity: Members | undefined;
  readonly session: Session | undefined;
}

export interface ReadListOptions {
  /** Entries that are read at most. */
  readonly entriesMax: number;
  /** Files of a playlist's owner are tracks, too. */
  readonly localFiles: boolean;
}

const DATA_MARK = "__NEXT_DATA__";
/** Answers of the page's own server that say that there is nothing. */
const MISSING = new Set([404, 410]);

/** Throws a SourceError `changed` for a page of another form. */
export function readEmbedPage(page: string): EmbedPage {
  const { pageProps } = membersOf(membersOf(dataOf(page)).props);
  const { state, status } = membersOf(pageProps);
  const { data, settings } = membersOf(state);
  const session = readSession(membersOf(settings).session);
  const entity = objectOf(membersOf(data).entity);
  const isMissing = MISSING.has(numberOf(status) ?? 0);
  if (entity === undefined && !isMissing && session === undefined) {
    throw new SourceError("changed", `Spotify's embed page has neither an item nor a session in its ${DATA_MARK}`);
  }
  return { entity, session };
}

/** A session as embed pages have it, and the services that give out tokens. */
export function readSession(value: unknown): Session | undefined {
  const { accessToken, accessTokenExpirationTimestampMs } = membersOf(value);
  const token = trimmedText(accessToken);
  // A line break would end the header in which it is sent.
  if (token === undefined || !/^[\x21-\x7e]{1,8192}$/.test(token)) return undefined;
  const expiresAtMs = numberOf(accessTokenExpirationTimestampMs) ?? 0;
  return { token, expiresAtMs: expiresAtMs > 0 ? expiresAtMs : undefined };
}

/** The track of the page of this id. Undefined for anything else. */
export function readEmbedTrack(entity: Members, id: string): FoundTrack | undefined {
  const found = readEntry({ ...entity, id });
  if (found === undefined || found.id === LOCAL_ID) return undefined;
  const artists = artistsOf(entity.artists);
  return {
    ...found,
    author: joinedNames(artists.map(({ name }) => trimmedText(name))) ?? found.author,
    artistUrl: pageIn(artists[0]?.uri, "artist"),
  };
}

/** The list of the item's page, with its first entries. Undefined for anything else. */
export function readEmbedList(
  entity: Members,
  { type, id }: Item,
  { entriesMax, localFiles }: ReadListOptions,
): FoundList | undefined {
  const name = trimmedText(entity.name) ?? trimmedText(entity.title);
  if (name === undefined || !Array.isArray(entity.trackList)) return undefined;
  const entries = listOf(entity.trackList).slice(0, entriesMax);
  const artworkUrl = coverOf(entity);
  const album = type === "album" ? { artworkUrl, albumName: name, albumUrl: pageOf(type, id) } : {};
  const tracks = entries.flatMap((entry) => {
    const members = membersOf(entry);
    const track = members.isPlayable === false ? undefined : readEntry(members);
    if (track === undefined || (track.id === LOCAL_ID && !localFiles)) return [];
    return [{ ...album, ...defined(track) }];
  });
  const artists = joinedNames(artistsOf(entity.artists).map((artist) => trimmedText(artist.name)));
  const author = type === "artist" ? name : (artists ?? joinedArtists(entity.subtitle));
  return { name, author, artworkUrl, tracks, entryCount: entries.length };
}

function readEntry(entry: Members): FoundTrack | undefined {
  const id = trackIdOf(entry);
  const title = trimmedText(entry.title) ?? trimmedText(entry.name);
  if (id === undefined || title === undefined) return undefined;
  return {
    id,
    title,
    author: joinedArtists(entry.subtitle),
    lengthMs: lengthOf(entry.duration),
    artworkUrl: coverOf(entry),
    previewUrl: webAddressOf(membersOf(entry.audioPreview).url),
  };
}

function coverOf({ coverArt, visualIdentity }: Members): string | undefined {
  return pictureOf(membersOf(coverArt).sources, membersOf(visualIdentity).image);
}

/** Without the members that are undefined, so that they replace none. */
function defined(track: FoundTrack): FoundTrack {
  return Object.fromEntries(Object.entries(track).filter(([, value]) => value !== undefined)) as unknown as FoundTrack; // a part
}

function dataOf(page: string): unknown {
  const mark = page.indexOf(DATA_MARK);
  const start = mark < 0 ? -1 : page.indexOf(">", mark);
  const end = start < 0 ? -1 : page.indexOf("</script", start);
  if (end < 0) {
    throw new SourceError(
      "changed",
      `Spotify's embed page has no ${DATA_MARK}: it has changed, or it asks for a browser`,
    );
  }
  try {
    return JSON.parse(page.slice(start + 1, end));
  } catch {
    throw new SourceError("changed", `the ${DATA_MARK} of Spotify's embed page is not JSON`);
  }
}
