// Parses Tidal's identifiers: searches, recommendations, and the links of its pages and of its players. Plugin thread.

import { pageAddressIn } from "../reading/address.ts";
import { TIDAL_MANIFEST } from "./manifest.ts";

type TidalKind = "track" | "album" | "playlist" | "mix" | "artist";

export type TidalRequest =
  | { readonly kind: "search"; readonly query: string }
  /** Tracks similar to the one with this id. */
  | { readonly kind: "similar"; readonly id: string }
  | { readonly kind: TidalKind; readonly id: string };

const SEARCH = "tdsearch:";
const SIMILAR = "tdrec:";
const HOSTS: ReadonlySet<string> = new Set(TIDAL_MANIFEST.sources[0].hosts);
/** Its players write them in the plural. */
const KINDS: ReadonlyMap<string, TidalKind> = new Map(
  (["track", "album", "playlist", "mix", "artist"] as const).flatMap((kind) => [
    [kind, kind] as const,
    [`${kind}s`, kind] as const,
  ]),
);
const NUMBER = /^\d{1,19}$/;
/** UUIDs of playlists; mixes have others. */
const NAME = /^[\w-]{1,100}$/;

/** Undefined: it is not Tidal's, or a page of theirs that is none of these. */
export function parseIdentifier(identifier: string): TidalRequest | undefined {
  const text = identifier.trim();
  if (text.startsWith(SEARCH)) return { kind: "search", query: text.slice(SEARCH.length).trim() };
  if (!text.startsWith(SIMILAR)) return parseLink(text);
  const seed = text.slice(SIMILAR.length).trim();
  const link = NUMBER.test(seed) ? { kind: "track" as const, id: seed } : parseLink(seed);
  return link?.kind === "track" ? { kind: "similar", id: link.id } : undefined;
}

/** The scheme may be missing. */
function parseLink(text: string): Extract<TidalRequest, { readonly kind: TidalKind }> | undefined {
  const url = pageAddressIn(text);
  if (url === undefined || !HOSTS.has(url.hostname)) return undefined;
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const [first = "", firstId = "", second = "", secondId = ""] =
    segments[0] === "browse" ? segments.slice(1) : segments;
  // `/album/1/track/2` is the track.
  const isTrack = first === "album" && second === "track";
  const kind = KINDS.get(isTrack ? second : first);
  const id = isTrack ? secondId : firstId;
  if (kind === undefined || !(kind === "playlist" || kind === "mix" ? NAME : NUMBER).test(id)) return undefined;
  return { kind, id };
}
