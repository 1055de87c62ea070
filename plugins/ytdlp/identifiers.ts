// Classifies an identifier, or the link of a track, for yt-dlp: a page that it may read, or a search. No other text
// reaches the program's arguments. Plugin thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { isPublicName, PREFIX, type Sites, siteOf } from "./sites.ts";

const QUERY_LENGTH_MAX = 500;
const SEARCH_COUNT_MAX = 100;
/** `ytsearch5:`, `scsearch:`, `ytsearchdate10:`. */
const SEARCH = /^([a-z]{1,20}search(?:date)?)(\d{1,4})?:(.+)$/is;

/** A page or search for yt-dlp. */
export interface Target {
  /** The last argument. */
  readonly input: string;
  /** Name of the backend that its outcome counts for; undefined where any client could make it look broken. */
  readonly backend: string | undefined;
  /** yt-dlp may fetch pages of unknown sites and search them for media. */
  readonly mayGuess: boolean;
}

export type ParsedIdentifier =
  | { readonly kind: "page"; readonly target: Target; readonly isPrefixed: boolean }
  | { readonly kind: "search"; readonly target: Target; readonly countMax: number };

/** Undefined: not this source's. Throws SourceError `invalid` for what only it could take. */
export function readIdentifier(
  identifier: string,
  { sites, searchLimit }: { readonly sites: Sites; readonly searchLimit: number },
): ParsedIdentifier | undefined {
  if (!identifier.startsWith(PREFIX)) {
    const url = /^https?:\/\//i.test(identifier) ? identifier : `https://${identifier}`;
    const target = pageTarget(url, sites);
    if (target === undefined) return undefined;
    return sites.isAll || target.backend !== undefined ? { kind: "page", target, isPrefixed: false } : undefined;
  }
  const rest = identifier.slice(PREFIX.length).trim();
  const search = searchOf(rest, searchLimit);
  if (search !== undefined) return search;
  const target = pageTarget(rest, sites);
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
  // The URL's normalised text, so that yt-dlp reads exactly what was checked.
  return { input: url.href, backend: site, mayGuess: site !== undefined || sites.isAll };
}

function searchOf(rest: string, searchLimit: number): ParsedIdentifier | undefined {
  const [, name = "", count, words = ""] = SEARCH.exec(rest) ?? [];
  const query = words
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, QUERY_LENGTH_MAX);
  if (query === "") return undefined;
  const countMax = Math.min(Math.max(1, count === undefined ? searchLimit : Number(count)), SEARCH_COUNT_MAX);
  const input = `${name.toLowerCase()}${countMax}:${query}`;
  return { kind: "search", target: { input, backend: "searches", mayGuess: false }, countMax };
}
