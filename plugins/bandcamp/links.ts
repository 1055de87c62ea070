// Which addresses are tracks, albums and artists of Bandcamp. Pure. Plugin thread.

import { webAddressIn } from "../reading/address.ts";

export interface BandcampLink {
  readonly kind: "track" | "album" | "artist";
  /** As we ask for it: https, without query. */
  readonly url: string;
}

const LENGTH_MAX = 2048;
const PIECE = /^\/(track|album)\/([\w%.~-]{1,300})\/?$/;
/** A domain name, so neither an address of the network nor a name without a dot. */
const DOMAIN = /^(?:[a-z\d_-]{1,63}\.){1,10}[a-z][a-z\d-]{1,62}$/;
/** Names of Bandcamp's own in front of its domain: no artist's. */
const OWN_NAMES = new Set(["www", "daily", "blog", "get", "help", "support", "m", "merch", "f4", "t4", "bandcamp"]);

/** Undefined if it is not a Bandcamp link. Accepts only addresses at bandcamp.com itself. */
export function parseBandcampLink(text: string): BandcampLink | undefined {
  const url = parseAddress(text);
  if (url === undefined || !isBandcampHost(url.hostname)) return undefined;
  const [, kind] = PIECE.exec(url.pathname) ?? [];
  if (kind === "track" || kind === "album") return { kind, url: bare(url) };
  const artist = /^([a-z0-9-]+)\.bandcamp\.com$/.exec(url.hostname)?.[1];
  if (artist === undefined || OWN_NAMES.has(artist) || !/^\/(music\/?)?$/.test(url.pathname)) return undefined;
  return { kind: "artist", url: `https://${url.hostname}/music` };
}

/**
 * The address of a track's page, https and without query; undefined if it is not one. Artists may use custom domains,
 * so any host is possible; the outbound guard makes sure that it is a public one.
 */
export function parseTrackAddress(text: string, base?: string): string | undefined {
  const url = parseAddress(text, base);
  return url !== undefined && PIECE.exec(url.pathname)?.[1] === "track" ? bare(url) : undefined;
}

/** The address of a release's page (an album, or a track published alone), as in `parseTrackAddress`. */
export function parseReleaseAddress(text: string, base: string): string | undefined {
  const url = parseAddress(text, base);
  return url !== undefined && PIECE.test(url.pathname) ? bare(url) : undefined;
}

export function isBandcampHost(hostname: string): boolean {
  return hostname === "bandcamp.com" || hostname.endsWith(".bandcamp.com");
}

/** Where Bandcamp keeps its audio. */
export function isMediaHost(hostname: string): boolean {
  return hostname === "bcbits.com" || hostname.endsWith(".bcbits.com");
}

function parseAddress(text: string, base?: string): URL | undefined {
  const url = text.length > LENGTH_MAX ? undefined : webAddressIn(text, base);
  return url?.port === "" && url.username === "" && DOMAIN.test(url.hostname) ? url : undefined;
}

function bare({ hostname, pathname }: URL): string {
  return `https://${hostname}${pathname.replace(/\/$/, "")}`;
}
