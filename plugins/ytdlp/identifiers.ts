// What an identifier, or the link of a track, is to yt-dlp: a page that it may read, or a search. Nothing else gets
// through to the program's arguments. Plugin thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { isPublicName, PREFIX, type Sites, siteOf } from "./sites.ts";

const QUERY_LENGTH_MAX = 500;
const SEARCH_COUNT_MAX = 100;
/** `ytsearch5:`, `scsearch:`, `ytsearchdate10:`. */
const SEARCH = /^([a-z]{1,20}search(?:date)?)(\d{1,4})?:(.+)$/is;

/** Something that yt-dlp is to look at. */
export interface Target {
  /** The last argument. */
  readonly input: string;
  /** Name of the backend that its outcome counts for; undefined where any client could make it look broken. */
  readonly backend: string | undefined;
  /** yt-dlp may fetch pages of sites that it does not know, and look for media there. */
  readonly mayGuess: boolean;
}

export type Wanted =
  | { readonly kind: "page"; readonly target: Target; readonly isPrefixed: boolean }
  | { readonly kind: "search"; readonly target: Target; readonly countMax: number };

/** Undefined: not this source's. Throws SourceError `invalid` for what only it could take. */
export function readIdentifier(
  identifier: string,
  { sites, searchLimit }: { readonly sites: Sites; readonly searchLimit: number },
): Wanted | undefined {
  if (!identifier.startsWith(PREFIX)) {
    const url = /^https?:\/\//i.test(identifier) ? identifier : `https://${identifier}`;
    const target = pageTarget(url, sites);
    if (target === undefined) return undefined;
    return sites.isAll || target.backend !== undefined ? { kind: "page", target, isPrefixed: false } : undefined;
  }
  const wish = identifier.slice(PREFIX.length).trim();
  const search = searchOf(wish, searchLimit);
  if (search !== undefined) return search;
  const target = pageTarget(wish, sites);
  if (target !== undefined) return { kind: "page", target, isPrefixed: true };
  throw new SourceError(
    "invalid",
    `behind ${PREFIX} there has to be an http or https link of a public site, or a search such as ytsearch5:words`,
  );
}

/** Undefined: no link, or not one that yt-dlp may be sent to. */
export function pageTarget(link: string, sites: Sites): Target | undefined {
  const url = webAddressIn(link);
  if (url === undefined || url.username !== "" || url.password !== "") return undefined;
  const site = siteOf(url.hostname, sites);
  if (site === undefined && !isPublicName(url.hostname)) return undefined;
  // As URL writes it: what was looked at and what yt-dlp reads are the same.
  return { input: url.href, backend: site, mayGuess: site !== undefined || sites.isAll };
}

function searchOf(wish: string, searchLimit: number): Wanted | undefined {
  const [, name = "", count, words = ""] = SEARCH.exec(wish) ?? [];
  const query = words
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, QUERY_LENGTH_MAX);
  if (query === "") return undefined;
  const countMax = Math.min(Math.max(1, count === undefined ? searchLimit : Number(count)), SEARCH_COUNT_MAX);
  const input = `${name.toLowerCase()}${countMax}:${query}`;
  return { kind: "search", target: { input, backend: "searches", mayGuess: false }, countMax };
}
