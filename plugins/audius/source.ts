// The source `audius`: what each identifier asks of Audius' API, its answers as tracks and playlists, and the links of
// their audio. Plugin thread.

import {
  type LoadRequest,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { pageAddressIn, webLinkOf } from "../reading/address.ts";
import { type Members, membersOf, numberOf, objectsOf, trimmedText } from "../reading/json.ts";
import { listInfo } from "../reading/list-info.ts";
import { AudiusApi, StrangeError } from "./api.ts";
import { AUDIUS_MANIFEST } from "./manifest.ts";

const SITE = "https://audius.co";
const SEARCH = "ausearch:";
const SEARCH_TRACKS = 20;
const USER_TRACKS = 100;
const TRACKS_MAX = 1000;
const LENGTH_S_MAX = 24 * 3600;
const TEXT_LENGTH_MAX = 1000;
const HOSTS: ReadonlySet<string> = new Set(AUDIUS_MANIFEST.sources[0].hosts);
const ID = /^\w{1,40}$/;
const HANDLE = /^[\w.-]{1,100}$/;
/** First segments that are not users. */
const NO_USERS = new Set([
  ...[
    "check",
    "dashboard",
    "download",
    "embed",
    "error",
    "explore",
    "favorites",
    "feed",
    "history",
    "legal",
    "library",
  ],
  ...["messages", "notifications", "press", "rewards", "search", "settings", "signin", "signup", "trending", "upload"],
]);
const NOT_FOR_ALL =
  "This track is not available: on Audius, only people who have bought it or follow its artist may play it";

/** A link's path, as the API takes it. */
interface Link {
  readonly url: string;
  readonly segments: readonly string[];
}

export class AudiusSource {
  readonly #api: AudiusApi;

  constructor(host: PluginHost) {
    this.#api = new AudiusApi(host);
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const text = identifier.trim();
    if (text.startsWith(SEARCH)) return this.#search(text.slice(SEARCH.length).trim(), signal);
    const link = parseLink(text);
    if (link === undefined) return undefined;
    const [user = "", second] = link.segments;
    if (second === undefined) return this.#user(user, signal);
    return link.segments.length === 3 ? this.#list(link, second, signal) : this.#track(link, signal);
  }

  /** Rejects with `unavailable` for what is not for everybody. */
  async resolve({ track: { identifier }, signal }: ResolveRequest): Promise<Playable> {
    if (!ID.test(identifier)) throw new SourceError("invalid", "the track names no track of Audius");
    try {
      const url = await this.#api.stream(identifier, signal);
      return { kind: "link", url: url.href, variant: "mp3" };
    } catch (error) {
      const isOwn = error instanceof SourceError && !(error instanceof StrangeError);
      if (!isOwn || error.kind !== "unavailable") throw error;
      throw new SourceError("unavailable", NOT_FOR_ALL, { cause: error });
    }
  }

  async #search(query: string, signal: AbortSignal): Promise<SourceAnswer> {
    if (query === "") return { kind: "empty" };
    const found = await this.#api.get("/tracks/search", { signal, query: { query, limit: SEARCH_TRACKS } });
    return { kind: "search", tracks: readTracks(found) };
  }

  async #track({ url }: Link, signal: AbortSignal): Promise<SourceAnswer> {
    const json = membersOf(await this.#api.get("/resolve", { signal, query: { url } }));
    const track = readTrack(json);
    if (track === undefined) return { kind: "empty" };
    if (!isPlayable(json)) throw new SourceError("unavailable", NOT_FOR_ALL);
    return { kind: "track", track };
  }

  async #user(handle: string, signal: AbortSignal): Promise<SourceAnswer> {
    const path = `/users/handle/${encodeURIComponent(handle)}/tracks`;
    const found = await this.#api.get(path, { signal, query: { limit: USER_TRACKS } });
    const tracks = readTracks(found);
    const author = tracks[0]?.author ?? handle;
    const url = `${SITE}/${handle}`;
    const pluginInfo = listInfo({ type: "artist", url, author, tracks });
    return tracks.length === 0
      ? { kind: "empty" }
      : { kind: "playlist", name: `${author}'s tracks`, tracks, pluginInfo };
  }

  async #list({ url }: Link, type: string, signal: AbortSignal): Promise<SourceAnswer> {
    const resolved = await this.#api.get("/resolve", { signal, query: { url } });
    const list = membersOf(Array.isArray(resolved) ? resolved[0] : resolved);
    const id = trimmedText(list.id) ?? "";
    const name = textOf(list.playlist_name);
    if (!ID.test(id) || name === undefined) return { kind: "empty" };
    const tracks = readTracks(await this.#api.get(`/playlists/${id}/tracks`, { signal }));
    if (tracks.length === 0) return { kind: "empty" };
    const author = textOf(membersOf(list.user).name);
    const artworkUrl = artworkOf(list.artwork);
    return {
      kind: "playlist",
      name,
      tracks,
      pluginInfo: listInfo({ type, url, artworkUrl, author, tracks }),
    };
  }
}

/** The scheme may be missing. Undefined: it is no user, track, album or playlist. */
function parseLink(text: string): Link | undefined {
  const url = pageAddressIn(text);
  if (url === undefined || !HOSTS.has(url.hostname)) return undefined;
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const [user = "", second = "", third] = segments;
  if (!HANDLE.test(user) || NO_USERS.has(user) || segments.length > 3) return undefined;
  if (third !== undefined && second !== "album" && second !== "playlist") return undefined;
  try {
    // The API takes names as they are written, not escaped.
    return { url: `${SITE}/${segments.map((segment) => decodeURIComponent(segment)).join("/")}`, segments };
  } catch {
    // Escaped badly.
    return undefined;
  }
}

/** Those that everybody may play. Throws a SourceError `changed` for what is no list. */
function readTracks(found: unknown): SourceTrack[] {
  if (!Array.isArray(found))
    throw new SourceError("changed", "Audius' API answered no list of tracks where one was expected");
  return objectsOf(found, TRACKS_MAX).flatMap((json) => (isPlayable(json) ? (readTrack(json) ?? []) : []));
}

/** Undefined for what is no track. */
function readTrack(json: Members): SourceTrack | undefined {
  const id = trimmedText(json.id) ?? "";
  const title = textOf(json.title);
  if (!ID.test(id) || title === undefined) return undefined;
  const user = membersOf(json.user);
  const lengthS = numberOf(json.duration) ?? 0;
  return {
    identifier: id,
    title,
    author: textOf(user.name) ?? textOf(user.handle),
    lengthMs: lengthS > 0 && lengthS <= LENGTH_S_MAX ? Math.round(lengthS * 1000) : undefined,
    isStream: false,
    uri: webLinkOf(json.permalink, SITE),
    artworkUrl: artworkOf(json.artwork),
    isrc: textOf(json.isrc) ?? null,
  };
}

/** Premium tracks, and removed ones, are not. */
function isPlayable(json: Members): boolean {
  const { stream } = membersOf(json.access);
  const isGated = json.is_stream_gated === true && stream !== true;
  const isGone = json.is_delete === true || json.is_available === false || json.is_streamable === false;
  return !isGated && !isGone && stream !== false;
}

function artworkOf(value: unknown): string | null {
  const artwork = membersOf(value);
  const links = ["1000x1000", "480x480", "150x150"].map((size) => webLinkOf(artwork[size], SITE));
  return links.find((link) => link !== null) ?? null;
}

function textOf(value: unknown): string | undefined {
  return trimmedText(value)?.slice(0, TEXT_LENGTH_MAX);
}
