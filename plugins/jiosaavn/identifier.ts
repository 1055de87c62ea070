// Parses JioSaavn's identifiers: searches, recommendations, previews, and the links of its pages. Plugin thread.

import { pageAddressIn } from "../reading/address.ts";
import { JIOSAAVN_MANIFEST } from "./manifest.ts";

/** As the API has them. */
export type PageKind = "song" | "album" | "playlist" | "artist";

/** `isPreview`: only the short previews of the tracks are wanted. */
export type JioSaavnRequest = { readonly isPreview: boolean } & (
  | { readonly kind: "search"; readonly query: string }
  /** Songs that go with the one with this id. */
  | { readonly kind: "recommendations"; readonly id: string }
  /** `token`: names the page. */
  | { readonly kind: "page"; readonly page: PageKind; readonly token: string }
);

const SEARCH = "jssearch:";
const RECOMMENDATIONS = "jsrec:";
const PREVIEW = "jsprev:";
const HOSTS: ReadonlySet<string> = new Set(JIOSAAVN_MANIFEST.sources[0].hosts);
const PAGES: ReadonlyMap<string, PageKind> = new Map([
  ["song", "song"],
  ["album", "album"],
  ["featured", "playlist"],
  ["playlist", "playlist"],
  ["artist", "artist"],
]);
/** Tokens and ids. */
const NAME = /^[\w,-]{1,100}$/;

/** Undefined: it is not JioSaavn's, or a page of theirs that is none of these. */
export function parseIdentifier(identifier: string): JioSaavnRequest | undefined {
  const trimmed = identifier.trim();
  const isPreview = trimmed.startsWith(PREVIEW);
  const text = isPreview ? trimmed.slice(PREVIEW.length).trim() : trimmed;
  if (text.startsWith(SEARCH)) return { kind: "search", query: text.slice(SEARCH.length).trim(), isPreview };
  if (text.startsWith(RECOMMENDATIONS)) {
    const id = songId(text.slice(RECOMMENDATIONS.length).trim());
    return id === undefined || isPreview ? undefined : { kind: "recommendations", id, isPreview };
  }
  const url = pageAddressIn(text);
  if (url === undefined || !HOSTS.has(url.hostname)) return undefined;
  const page = parsePage(url.pathname);
  return page === undefined ? undefined : { ...page, isPreview };
}

/** Undefined: the text is none. */
export function songId(text: string): string | undefined {
  return NAME.test(text) ? text : undefined;
}

/** `/song/<name>/<token>`; with `/s/` in front, more names are between: `/s/playlist/<user>/<name>/<token>`. */
function parsePage(
  path: string,
): { readonly kind: "page"; readonly page: PageKind; readonly token: string } | undefined {
  const segments = path.split("/").filter((segment) => segment !== "");
  const isShared = segments[0] === "s";
  const [kind = "", ...names] = isShared ? segments.slice(1) : segments;
  const page = PAGES.get(kind);
  const token = songId(names.at(-1)?.replaceAll(/%2c/gi, ",") ?? "");
  if (page === undefined || token === undefined) return undefined;
  return names.length === 2 || (isShared && names.length > 2 && names.length < 6)
    ? { kind: "page", page, token }
    : undefined;
}
