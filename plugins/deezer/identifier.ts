// Parses Deezer identifiers: searches, ISRCs, seeds of recommendations, and links of its pages and share links. Pure.
// Plugin thread.

import { pageAddressIn } from "../reading/address.ts";

type DeezerItem = "track" | "album" | "playlist" | "artist";

export type DeezerRequest =
  | { readonly kind: "search"; readonly query: string }
  /** `isrc`: without dashes; undefined: the text is not an ISRC. */
  | { readonly kind: "isrc"; readonly isrc: string | undefined }
  /** `seed`: undefined where the text names neither a track nor an artist. */
  | { readonly kind: "recommendations"; readonly seed: DeezerPage | undefined }
  | DeezerPage
  | ShareLink
  | OtherPage;

export interface DeezerPage {
  readonly kind: DeezerItem;
  readonly id: string;
}

/** Says by a redirect what it stands for. */
export interface ShareLink {
  readonly kind: "shareLink";
  readonly url: string;
}

/** A page of Deezer's that has no music: `show`. */
export interface OtherPage {
  readonly kind: "other";
  readonly page: string;
}

export interface DeezerIdentifier {
  readonly request: DeezerRequest;
  /** The previews of 30 s are wanted. */
  readonly isPreview: boolean;
}

const PREVIEW_PREFIX = "dzprev:";
const SEARCH_PREFIX = "dzsearch:";
const ISRC_PREFIX = "dzisrc:";
const RECOMMENDATIONS_PREFIX = "dzrec:";

const ISRC = /^[a-z]{2}[a-z\d]{3}\d{7}$/i;
const SEED = /^(?:(track|artist)=)?(\d{1,19})$/;
const PAGE_HOSTS = new Set(["deezer.com", "www.deezer.com", "m.deezer.com", "widget.deezer.com"]);
/** After a country or language, or after the widget's theme. */
const PAGE =
  /^\/(?:[a-z]{2}(?:-[a-z]{2})?\/|widget\/[a-z]{1,20}\/)?(?:(track|album|playlist|artist)\/(\d{1,19})|(show|episode))(?:\/|$)/i;
const SHARE_HOSTS = new Set(["deezer.page.link", "dzr.page.link"]);
const SHARE_PATH = /^\/[\w-]{1,100}\/?$/;
const NAMED_SHARE_PATH = /^\/s\/[\w-]{1,100}\/?$/;

/** Undefined: it is not Deezer's, or a page of theirs that is nothing to play. */
export function parseIdentifier(identifier: string): DeezerIdentifier | undefined {
  const isPreview = identifier.startsWith(PREVIEW_PREFIX);
  const request = parseRequest(isPreview ? identifier.slice(PREVIEW_PREFIX.length) : identifier);
  return request === undefined ? undefined : { request, isPreview };
}

function parseRequest(text: string): DeezerRequest | undefined {
  if (text.startsWith(SEARCH_PREFIX)) return { kind: "search", query: text.slice(SEARCH_PREFIX.length).trim() };
  if (text.startsWith(ISRC_PREFIX)) {
    const isrc = text.slice(ISRC_PREFIX.length).replaceAll(/[\s-]/g, "").toUpperCase();
    return { kind: "isrc", isrc: ISRC.test(isrc) ? isrc : undefined };
  }
  if (text.startsWith(RECOMMENDATIONS_PREFIX)) {
    const [, kind = "track", id] = SEED.exec(text.slice(RECOMMENDATIONS_PREFIX.length).trim()) ?? [];
    const isArtist = kind === "artist";
    return {
      kind: "recommendations",
      seed: id === undefined ? undefined : { kind: isArtist ? "artist" : "track", id },
    };
  }
  return parseLink(text.trim());
}

/** Parses a link of a page or a share link; the scheme may be missing. */
export function parseLink(link: string): DeezerPage | ShareLink | OtherPage | undefined {
  const url = pageAddressIn(link);
  if (url === undefined) return undefined;
  const { hostname, pathname } = url;
  const isShare =
    hostname === "link.deezer.com"
      ? NAMED_SHARE_PATH.test(pathname)
      : SHARE_HOSTS.has(hostname) && SHARE_PATH.test(pathname);
  if (isShare) return { kind: "shareLink", url: `https://${hostname}${pathname}` };
  const [, kind, id, page] = (PAGE_HOSTS.has(hostname) && PAGE.exec(pathname)) || [];
  if (page !== undefined) return { kind: "other", page: page.toLowerCase() };
  // As in the pattern.
  return kind === undefined || id === undefined ? undefined : { kind: kind.toLowerCase() as DeezerItem, id };
}
