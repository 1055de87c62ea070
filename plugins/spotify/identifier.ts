// Parses Spotify identifiers: searches, recommendations, previews, links of items, short links, URIs. Pure. Plugin
// thread.

import { pageAddressIn } from "../reading/address.ts";

export type ItemType = "track" | "album" | "playlist" | "artist";

export interface Item {
  readonly type: ItemType;
  readonly id: string;
}

export type SpotifyTarget =
  | { readonly kind: "search"; readonly query: string }
  | { readonly kind: "recommendations"; readonly seed: Seed }
  | { readonly kind: "item"; readonly item: Item }
  /** An episode or a show. */
  | { readonly kind: "podcast" }
  /** Says by a redirect what it stands for. */
  | { readonly kind: "shortLink"; readonly url: string };

/** What recommendations are to resemble; `isrc`: the recording with that code. */
export type Seed = Item | { readonly type: "isrc"; readonly id: string };

export interface SpotifyRequest {
  readonly target: SpotifyTarget;
  /** Previews of 30 s are requested. */
  readonly isPreview: boolean;
}

const PREVIEW_PREFIX = "spprev:";
const SEARCH_PREFIX = "spsearch:";
const RECOMMENDATION_PREFIX = "sprec:";
/** There are 22; Spotify says what others are. */
const ID = /^[A-Za-z0-9]{1,64}$/;
const TYPES: ReadonlySet<string> = new Set<ItemType>(["track", "album", "playlist", "artist"]);
const PODCASTS = new Set(["episode", "show"]);
const PAGE_HOSTS = new Set([
  ...["open.spotify.com", "www.open.spotify.com", "play.spotify.com", "embed.spotify.com"],
  ...["spotify.com", "www.spotify.com"],
]);
const SHORT_HOSTS = new Set(["spotify.link", "spotify.app.link"]);
const SHORT_NAME = /^[\w-]{1,200}$/;
/** Before what a page is about: `intl-de`, or `embed` for the player in other pages. */
const PATH_START = /^[a-z-]{2,20}$/i;
const PATH_STARTS_MAX = 3;
const MIX = /^mix:(album|artist|track|isrc):([\w-]{1,64})/;

/** Undefined: it is not Spotify's, or a page of theirs without music. */
export function parseIdentifier(identifier: string): SpotifyRequest | undefined {
  const isPreview = identifier.startsWith(PREVIEW_PREFIX);
  const target = targetOf(isPreview ? identifier.slice(PREVIEW_PREFIX.length) : identifier);
  return target === undefined ? undefined : { target, isPreview };
}

/** What a link or URI leads to; the scheme of a link may be missing. */
export function parseLink(text: string): SpotifyTarget | undefined {
  if (/^spotify:/i.test(text)) return parseSegments(text.slice("spotify:".length).split(":"));
  const url = pageAddressIn(text);
  if (url === undefined) return undefined;
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  if (SHORT_HOSTS.has(url.hostname)) {
    const [name = ""] = segments;
    return segments.length === 1 && SHORT_NAME.test(name)
      ? { kind: "shortLink", url: `https://${url.hostname}/${name}` }
      : undefined;
  }
  if (!PAGE_HOSTS.has(url.hostname)) return undefined;
  // The player of old names what it plays in its query.
  const uri = url.searchParams.get("uri") ?? "";
  return parseSegments(segments) ?? (/^spotify:/i.test(uri) ? parseSegments(uri.split(":").slice(1)) : undefined);
}

function targetOf(identifier: string): SpotifyTarget | undefined {
  if (identifier.startsWith(SEARCH_PREFIX)) {
    return { kind: "search", query: identifier.slice(SEARCH_PREFIX.length).trim() };
  }
  if (!identifier.startsWith(RECOMMENDATION_PREFIX)) return parseLink(identifier.trim());
  const seed = parseSeed(identifier.slice(RECOMMENDATION_PREFIX.length).trim());
  return seed === undefined ? undefined : { kind: "recommendations", seed };
}

/** A track's id or link, `mix:artist:<id>`, or a query for the former API: `seed_tracks=<id>,<id>&limit=5`. */
function parseSeed(text: string): Seed | undefined {
  const [, mixType, mixSeed = ""] = MIX.exec(text) ?? [];
  if (mixType === "isrc") return { type: "isrc", id: mixSeed };
  if (mixType !== undefined && isItemType(mixType)) return { type: mixType, id: mixSeed };
  if (ID.test(text)) return { type: "track", id: text };
  const query = new URLSearchParams(text);
  for (const type of ["track", "artist"] as const) {
    const id = query.get(`seed_${type}s`)?.split(",")[0]?.trim() ?? "";
    if (ID.test(id)) return { type, id };
  }
  const link = parseLink(text);
  return link?.kind === "item" ? link.item : undefined;
}

/** `track/<id>`, `intl-de/track/<id>`, `user/<name>/playlist/<id>`, `embed/track/<id>`. */
function parseSegments(segments: readonly string[]): SpotifyTarget | undefined {
  let rest = segments;
  for (let count = 0; count < PATH_STARTS_MAX; count++) {
    const [first = ""] = rest;
    if (isItemType(first) || PODCASTS.has(first)) break;
    if (first === "user") rest = rest.slice(2);
    else if (PATH_START.test(first)) rest = rest.slice(1);
    else return undefined;
  }
  const [type = "", id = ""] = rest;
  if (!ID.test(id)) return undefined;
  if (PODCASTS.has(type)) return { kind: "podcast" };
  return isItemType(type) ? { kind: "item", item: { type, id } } : undefined;
}

export function isItemType(text: string): text is ItemType {
  return TYPES.has(text);
}
