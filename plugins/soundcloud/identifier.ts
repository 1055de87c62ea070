// Parses SoundCloud identifiers: searches, pages of soundcloud.com, addresses of its API and of its player, short
// links; and the track in the identifiers of encoded tracks, Lavalink's and NodeLink's. Plugin thread.

import { addressOf } from "../reading/address.ts";

export type SoundCloudRequest =
  | { readonly kind: "search"; readonly query: string; readonly offset: number; readonly limit: number }
  /** A page of one item; its secret, if any, is the last path segment. */
  | { readonly kind: "page"; readonly url: string; readonly isSet: boolean; readonly secret: string | undefined }
  | { readonly kind: "user"; readonly user: UserName; readonly list: UserList }
  | { readonly kind: "track"; readonly id: string; readonly secret: string | undefined }
  | { readonly kind: "set"; readonly id: string; readonly secret: string | undefined }
  /** Says by a redirect what it stands for. */
  | { readonly kind: "shortLink"; readonly url: string };

export type UserList = "tracks" | "likes" | "reposts";
/** As in the address of their page, or as a number. */
export type UserName = { readonly page: string } | { readonly id: string };

const SEARCH_LIMIT = 10;
const SEARCH_LIMIT_MAX = 200;
const SEARCH_WINDOW = /^scsearch\[(\d{1,9}),(\d{1,9})\]:(.*)$/s;
const NAME = /^[\w-]{1,200}$/;
/** SoundCloud's own sets have colons in their names: `weekly::somebody`. */
const SET_NAME = /^[\w:-]{1,200}$/;
const SECRET = /^s-[\w-]{1,100}$/;
/** An id, or a resource name that ends with it: `soundcloud:tracks:11`. */
const ID = /^(?:soundcloud:(?:tracks|playlists|users):)?([1-9]\d{0,19})$/;
const URN = /^soundcloud:(tracks|playlists):([1-9]\d{0,19})$/;
/** In a transcoding address of Lavalink's tracks; the colons may be escaped. */
const TRACK_IN_TRANSCODING_URL =
  /^(?:[A-Z]:)?https:\/\/api(?:-v2)?\.soundcloud\.com\/\S*soundcloud(?::|%3a)tracks(?::|%3a)([1-9]\d{0,19})(?!\d)/i;

const PAGE_HOSTS = new Set(["soundcloud.com", "www.soundcloud.com", "m.soundcloud.com"]);
const API_HOSTS = new Set(["api.soundcloud.com", "api-v2.soundcloud.com"]);
const SHORT_HOSTS = new Set(["on.soundcloud.com", "soundcloud.app.goo.gl"]);
const PLAYER_HOST = "w.soundcloud.com";
/** First segments that are not users. */
const NO_USERS = new Set([
  ...["charts", "discover", "feed", "imprint", "jobs", "library", "logout", "messages", "mobile", "notifications"],
  ...["pages", "people", "player", "popular", "search", "settings", "signin", "stations", "stream", "tags"],
  ...["terms-of-use", "tour", "upload", "you"],
]);
const USER_LISTS: ReadonlySet<string> = new Set<UserList>(["tracks", "likes", "reposts"]);
/** Second segments that are neither a track nor a list of tracks. */
const NO_TRACKS = new Set([
  "albums",
  "comments",
  "followers",
  "following",
  "popular-tracks",
  "sets",
  "spotlight",
  "stations",
]);

/** Undefined: it is not SoundCloud's, or a page of theirs that is not about music. */
export function parseIdentifier(identifier: string): SoundCloudRequest | undefined {
  if (identifier.startsWith("scsearch:")) {
    return { kind: "search", query: identifier.slice("scsearch:".length).trim(), offset: 0, limit: SEARCH_LIMIT };
  }
  const [, offset, limit, query] = SEARCH_WINDOW.exec(identifier) ?? [];
  if (query !== undefined) {
    const window = { offset: Number(offset), limit: Math.min(Number(limit), SEARCH_LIMIT_MAX) };
    return { kind: "search", query: query.trim(), ...window };
  }
  const [, kind, id] = URN.exec(identifier) ?? [];
  if (id !== undefined) return { kind: kind === "tracks" ? "track" : "set", id, secret: undefined };
  return parseLink(identifier);
}

/** The number of the track that an encoded track's identifier is about. */
export function trackIdOf(identifier: string): string | undefined {
  return ID.exec(identifier)?.[1] ?? TRACK_IN_TRANSCODING_URL.exec(identifier)?.[1];
}

/** Parses a SoundCloud link; the scheme may be missing. */
export function parseLink(link: string): SoundCloudRequest | undefined {
  const url = linkUrlOf(link);
  if (url === undefined) return undefined;
  const host = url.hostname;
  const secret = secretOf(url.searchParams.get("secret_token"));
  // A player shows what its own address names: that one is not a player's.
  const target = host === PLAYER_HOST && /^\/player\/?$/.test(url.pathname) ? url.searchParams.get("url") : null;
  if (target !== null) {
    const isPlayer = linkUrlOf(target)?.hostname === PLAYER_HOST;
    return isPlayer ? undefined : withSecret(parseLink(target), secret);
  }
  const segments = segmentsOf(url);
  if (SHORT_HOSTS.has(host)) return parseShortLink(host, segments);
  if (API_HOSTS.has(host)) return withSecret(parseApiPath(segments), secret);
  return PAGE_HOSTS.has(host) ? withSecret(parsePage(segments), secret) : undefined;
}

function parsePage(segments: readonly string[]): SoundCloudRequest | undefined {
  const [user = "", second, third, fourth] = segments;
  if (!NAME.test(user) || segments.length > 4) return undefined;
  if (second === "sets" && third !== undefined && SET_NAME.test(third)) {
    if (user !== "discover" && NO_USERS.has(user)) return undefined;
    return page([user, second, third], fourth, { isSet: true });
  }
  if (NO_USERS.has(user)) return undefined;
  if (second === undefined) return { kind: "user", user: { page: user }, list: "tracks" };
  if (isUserList(second)) return third === undefined ? { kind: "user", user: { page: user }, list: second } : undefined;
  if (!NAME.test(second) || NO_TRACKS.has(second) || fourth !== undefined) return undefined;
  return page([user, second], third, { isSet: false });
}

function page(
  segments: readonly string[],
  last: string | undefined,
  { isSet }: { readonly isSet: boolean },
): SoundCloudRequest | undefined {
  const secret = secretOf(last);
  // `/recommended` and the like.
  if (last !== undefined && secret === undefined) return undefined;
  const path = secret === undefined ? segments : [...segments, secret];
  return { kind: "page", url: `https://soundcloud.com/${path.join("/")}`, isSet, secret };
}

function parseApiPath([kind, name = "", list = "tracks"]: readonly string[]): SoundCloudRequest | undefined {
  const id = ID.exec(name)?.[1];
  if (id === undefined) return undefined;
  if (kind === "tracks") return { kind: "track", id, secret: undefined };
  if (kind === "playlists") return { kind: "set", id, secret: undefined };
  return kind === "users" && isUserList(list) ? { kind: "user", user: { id }, list } : undefined;
}

function parseShortLink(host: string, segments: readonly string[]): SoundCloudRequest | undefined {
  const [name = ""] = segments;
  return segments.length === 1 && NAME.test(name) ? { kind: "shortLink", url: `https://${host}/${name}` } : undefined;
}

/** Adds a secret given beside the address. */
function withSecret(parsed: SoundCloudRequest | undefined, secret: string | undefined): SoundCloudRequest | undefined {
  if (parsed === undefined || secret === undefined) return parsed;
  if (parsed.kind === "track" || parsed.kind === "set") return { ...parsed, secret };
  if (parsed.kind !== "page" || parsed.secret !== undefined) return parsed;
  return { ...parsed, url: `${parsed.url}/${secret}`, secret };
}

function isUserList(text: string): text is UserList {
  return USER_LISTS.has(text);
}

function secretOf(text: string | null | undefined): string | undefined {
  return text != null && SECRET.test(text) ? text : undefined;
}

/** The URL of a link whose scheme may be missing; undefined if it has a port or a user. */
function linkUrlOf(text: string): URL | undefined {
  const url = addressOf(/^https?:\/\//i.test(text) ? text : `https://${text}`);
  return url?.port === "" && url.username === "" && url.password === "" ? url : undefined;
}

function segmentsOf({ pathname }: URL): string[] {
  return pathname
    .replaceAll(/%3a/gi, ":")
    .split("/")
    .filter((segment) => segment !== "");
}
