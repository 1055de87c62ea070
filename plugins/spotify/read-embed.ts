// Reads Spotify's embed pages (open.spotify.com/embed/…): the item of the page, with at most 100 tracks of a list, and
// the session of the page's visitor, whose token the web player's interface accepts. Pure. Plugin thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import { listOf, type Members, membersOf, numberOf, objectOf, parsedJson, trimmedText } from "../reading/json.ts";
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
} from "./found.ts";
import type { Item } from "./identifier.ts";

/** A token of the web player. */
export interface Session {
  readonly token: string;
  /** Epoch milliseconds; undefined: not said. */
  readonly expiresAtMs: number | undefined;
}

export interface EmbedPage {
  readonly entity: Members | undefined;
  /** Whether Spotify says that there is no such item. */
  readonly isMissing: boolean;
  readonly session: Session | undefined;
}

export interface ReadListOptions {
  /** Entries that are read at most. */
  readonly entriesMax: number;
  /** Files of a playlist's owner are tracks, too. */
  readonly localFiles: boolean;
}

const DATA_ID = "__NEXT_DATA__";
const SCRIPT = new RegExp(`\\bid\\s{0,9}=\\s{0,9}["']?${DATA_ID}["'\\s>]`);
/** Answers of the page's own server that say that there is nothing. */
const MISSING = new Set([404, 410]);

/** Throws a SourceError `changed` for a page of another form. */
export function readEmbedPage(page: string): EmbedPage {
  const { pageProps } = membersOf(membersOf(dataOf(page)).props);
  const { state, status } = membersOf(pageProps);
  const { data, settings } = membersOf(state);
  const session = readSession(membersOf(settings).session);
  const { entity: written } = membersOf(data);
  const entity = objectOf(written);
  const isMissing = MISSING.has(numberOf(status) ?? 0) || written === null || data === null;
  if (entity === undefined && !isMissing && session === undefined) {
    throw new SourceError("changed", `Spotify's embed page has neither an item nor a session in its ${DATA_ID}`);
  }
  return { entity, session, isMissing };
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
  return {
    ...found,
    author: namesOf(entity) ?? found.author,
    artistUrl: pageIn(artistsOf(entity.artists)[0]?.uri, "artist"),
  };
}

/** The list of the item's page, with its first tracks; `entryCount` is that of the page. Undefined for anything else. */
export function readEmbedList(
  entity: Members,
  { type, id }: Item,
  { entriesMax, localFiles }: ReadListOptions,
): FoundList | undefined {
  const name = trimmedText(entity.name) ?? trimmedText(entity.title);
  if (name === undefined || !Array.isArray(entity.trackList)) return undefined;
  const entries = listOf(entity.trackList);
  const artworkUrl = coverOf(entity);
  const album = type === "album" ? { artworkUrl, albumName: name, albumUrl: pageOf(type, id) } : {};
  const artists = namesOf(entity);
  const author = type === "artist" ? name : (artists ?? joinedArtists(entity.subtitle));
  const common = { ...album, ...(type !== "playlist" && { author }) };
  // Those that Spotify does not play to this node are mirrored like the others.
  const tracks = entries.slice(0, entriesMax).flatMap((entry) => {
    const track = readEntry(membersOf(entry));
    if (track === undefined || (track.id === LOCAL_ID && !localFiles)) return [];
    return [{ ...common, ...defined(track) }];
  });
  return { name, author, artworkUrl, tracks, entryCount: entries.length };
}

function readEntry(entry: Members): FoundTrack | undefined {
  const id = trackIdOf(entry);
  const title = trimmedText(entry.title) ?? trimmedText(entry.name);
  if (id === undefined || title === undefined) return undefined;
  return {
    id,
    title,
    author: joinedArtists(entry.subtitle) ?? namesOf(entry),
    lengthMs: lengthOf(entry.duration),
    artworkUrl: coverOf(entry),
    previewUrl: webLinkOf(membersOf(entry.audioPreview).url) ?? undefined,
  };
}

function namesOf({ artists }: Members): string | undefined {
  return joinedNames(artistsOf(artists).map(({ name }) => trimmedText(name)));
}

function coverOf({ coverArt, visualIdentity }: Members): string | undefined {
  return pictureOf(membersOf(coverArt).sources, membersOf(visualIdentity).image);
}

/** Without the members that are undefined, so that they replace none. */
function defined(track: FoundTrack): FoundTrack {
  return Object.fromEntries(Object.entries(track).filter(([, value]) => value !== undefined)) as unknown as FoundTrack; // a part
}

function dataOf(page: string): unknown {
  const mark = page.search(SCRIPT);
  const start = mark < 0 ? -1 : page.indexOf(">", mark);
  const end = start < 0 ? -1 : page.indexOf("</script", start);
  if (end < 0) {
    throw new SourceError(
      "changed",
      `Spotify's embed page has no ${DATA_ID}: it has changed, or it asks for a browser`,
    );
  }
  const data = parsedJson(page.slice(start + 1, end));
  if (data === undefined) throw new SourceError("changed", `the ${DATA_ID} of Spotify's embed page is not JSON`);
  return data;
}
