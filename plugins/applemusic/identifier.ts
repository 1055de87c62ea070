// Parses Apple Music identifiers: searches and links. Pure. Plugin thread.

import { pageAddressIn, webAddressIn } from "../reading/address.ts";

export type AppleMusicRequest =
  | { readonly kind: "search"; readonly query: string }
  | AppleMusicItem
  /** A page of Apple Music's that cannot be loaded, and why. */
  | { readonly kind: "refused"; readonly reason: string };

export interface AppleMusicItem {
  readonly kind: "song" | "album" | "playlist" | "artist";
  readonly id: string;
  /** Two lower-case letters; undefined: the link names none. */
  readonly country: string | undefined;
}

export interface AppleMusicIdentifier {
  readonly request: AppleMusicRequest;
  /** The previews of 30 s are wanted. */
  readonly isPreview: boolean;
}

const PREVIEW_PREFIX = "amprev:";
const SEARCH_PREFIX = "amsearch:";
const COUNTRY = /^[a-z]{2}$/i;
/** Old links of the iTunes store have `id` in front. */
const NUMBER = /^(?:id)?(\d{1,19})$/;
const PLAYLIST = /^(pl\.[\w.-]{1,100})$/;
/** Ids of an account's own items: `p.…`, `l.…`, `i.…`. */
const LIBRARY_ITEM = /^[pli]\.[\w.-]{1,100}$/;
const ITEMS: Readonly<Record<string, RegExp>> = { song: NUMBER, album: NUMBER, artist: NUMBER, playlist: PLAYLIST };
/** A page of the site itself, such as `/us/browse`, has no more segments than its country and name. */
const ITEM_SEGMENTS_MIN = 2;

const LIBRARY =
  "this is part of somebody's library at Apple Music, which only its owner can load; share it, and use the new link (for a playlist …/playlist/…/pl.u-…)";
const OTHER =
  "this link of Apple Music is not of a song, album, playlist or artist, the only ones that can be loaded here";

/** Undefined: it is not Apple Music's, or a page of theirs that is nothing to play. */
export function parseIdentifier(identifier: string): AppleMusicIdentifier | undefined {
  const isPreview = identifier.startsWith(PREVIEW_PREFIX);
  const text = isPreview ? identifier.slice(PREVIEW_PREFIX.length) : identifier;
  const request: AppleMusicRequest | undefined = text.startsWith(SEARCH_PREFIX)
    ? { kind: "search", query: text.slice(SEARCH_PREFIX.length).trim() }
    : parseLink(text.trim());
  return request === undefined ? undefined : { request, isPreview };
}

/** The country in the link of a track's page. */
export function countryOf(link: string): string | undefined {
  const [country = ""] = segmentsOf(webAddressIn(link)?.pathname ?? "");
  return COUNTRY.test(country) ? country.toLowerCase() : undefined;
}

/** Parses a link; the scheme may be missing. */
function parseLink(link: string): AppleMusicRequest | undefined {
  const url = pageAddressIn(link);
  const isMusic = url !== undefined && /^(?:[\w-]{1,63}\.)?music\.apple\.com$/.test(url.hostname);
  if (url === undefined || (!isMusic && url.hostname !== "geo.itunes.apple.com")) return undefined;
  const country = countryOf(url.href);
  const [kind = "", ...rest] = segmentsOf(url.pathname).slice(country === undefined ? 0 : 1);
  const found = parseItem({ kind, rest, songId: url.searchParams.get("i"), country });
  if (found !== undefined || !isMusic) return found;
  if (kind === "library" || rest.some((segment) => LIBRARY_ITEM.test(segment))) return refused(LIBRARY);
  return rest.length + 1 >= ITEM_SEGMENTS_MIN ? refused(OTHER) : undefined;
}

function parseItem({
  kind,
  rest,
  songId,
  country,
}: {
  readonly kind: string;
  readonly rest: readonly string[];
  /** The song of an album that the link is of. */
  readonly songId: string | null;
  readonly country: string | undefined;
}): AppleMusicItem | undefined {
  const form = Object.hasOwn(ITEMS, kind) ? ITEMS[kind] : undefined;
  // As in the table.
  const itemKind = kind as AppleMusicItem["kind"];
  // Behind its name, which may look like an id; or alone.
  const id = [rest[1], rest[0]].map((segment) => form?.exec(segment ?? "")?.[1]).find((found) => found !== undefined);
  if (id === undefined) return undefined;
  const song = kind === "album" ? NUMBER.exec(songId ?? "")?.[1] : undefined;
  return song === undefined ? { kind: itemKind, id, country } : { kind: "song", id: song, country };
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function refused(reason: string): AppleMusicRequest {
  return { kind: "refused", reason };
}
