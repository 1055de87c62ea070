// The source `deezer`: from what an identifier asks for to what a client gets. Plugin thread.

import {
  type LoadRequest,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  type SearchList,
  type SearchRequest,
  type SearchResult,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { addressOf, webLinkOf } from "../reading/address.ts";
import { type Members, membersOf, objectOf, objectsOf, trimmedText } from "../reading/json.ts";
import { countOf, listInfo, topTracksOf } from "../reading/list-info.ts";
import { valueOrTrouble } from "../reading/trouble.ts";
import { DeezerApi } from "./api.ts";
import {
  type DeezerPage,
  type DeezerRequest,
  type OtherPage,
  parseIdentifier,
  parseLink,
  type ShareLink,
} from "./identifier.ts";
import { idOf, pictureOf, readTrack } from "./read-track.ts";

const LIST_LIMIT = 10_000;
const TOP_LIMIT = 50;
const SEARCH_RESULTS_MAX = 100;
const SUGGESTED = ["tracks", "albums", "artists", "playlists"] as const;
const SHARE_LINKS_MAX = 3;
/** In a preview's link, when it expires: epoch seconds. */
const EXPIRY = /[?&~=]exp=(\d{9,11})(?!\d)/;

interface Wanted {
  readonly isPreview: boolean;
  readonly signal: AbortSignal;
}

export class DeezerSource {
  readonly #host: Pick<PluginHost, "http" | "backend" | "log">;
  readonly #api: DeezerApi;

  constructor(host: Pick<PluginHost, "http" | "backend" | "log">) {
    this.#host = host;
    this.#api = new DeezerApi(host);
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const parsed = parseIdentifier(identifier);
    if (parsed === undefined) return undefined;
    const { request, isPreview } = parsed;
    if (request.kind !== "shareLink") return this.#answer(request, { isPreview, signal });
    const target = await this.#follow(request, signal);
    return target === undefined ? { kind: "empty" } : this.#answer(target, { isPreview, signal });
  }

  /** Deezer suggests no texts. */
  async search({ query, types, signal }: SearchRequest): Promise<SearchResult | undefined> {
    const request = parseIdentifier(query)?.request;
    const isWanted = types.some((type) => type !== "text");
    if (request?.kind !== "search" || request.query === "" || !isWanted) return undefined;
    const json = await this.#api.get("search/autocomplete", { signal, query: { q: request.query } });
    if (SUGGESTED.every((name) => objectOf(json[name]) === undefined)) {
      throw new SourceError("changed", "api.deezer.com answered suggestions without lists");
    }
    const read = <Item>(name: (typeof SUGGESTED)[number], readItem: (entry: Members) => Item | undefined): Item[] =>
      objectsOf(membersOf(json[name]).data, SEARCH_RESULTS_MAX).flatMap((entry) => readItem(entry) ?? []);
    return {
      tracks: read("tracks", (entry) => readTrack(entry, { isPreview: false })),
      albums: read("albums", (entry) => readList("album", entry)),
      artists: read("artists", (entry) => readList("artist", entry)),
      playlists: read("playlists", (entry) => readList("playlist", entry)),
    };
  }

  async resolve({ track, signal }: ResolveRequest): Promise<Playable> {
    if (track.fields?.isPreview === true) return this.#preview(track, signal);
    return { kind: "mirror", isrc: trimmedText(track.isrc) ?? (await this.#isrcOf(track.identifier, signal)) };
  }

  async #answer(request: Exclude<DeezerRequest, ShareLink>, wanted: Wanted): Promise<SourceAnswer> {
    switch (request.kind) {
      case "search":
        return this.#search(request.query, wanted);
      case "isrc":
        return request.isrc === undefined ? { kind: "empty" } : this.#track(`track/isrc:${request.isrc}`, wanted);
      case "track":
        return this.#track(`track/${request.id}`, wanted);
      case "recommendations":
        return this.#recommendations(request.seed, wanted);
      case "album":
      case "playlist":
        return this.#list(request, wanted);
      case "artist":
        return this.#artist(request.id, wanted);
      case "other": {
        const advice = "only its tracks, albums, playlists and artists can be loaded";
        throw new SourceError("unavailable", `this link is of a podcast at Deezer (${request.page}): ${advice}`);
      }
    }
  }

  async #search(query: string, { isPreview, signal }: Wanted): Promise<SourceAnswer> {
    if (query === "") return { kind: "empty" };
    const { data } = await this.#api.get("search", { signal, query: { q: query } });
    if (!Array.isArray(data)) throw new SourceError("changed", "api.deezer.com answered a search without data");
    return { kind: "search", tracks: readAll(objectsOf(data, SEARCH_RESULTS_MAX), { isPreview }) };
  }

  async #track(path: string, { isPreview, signal }: Wanted): Promise<SourceAnswer> {
    const track = readTrack(await this.#api.get(path, { signal }), { isPreview });
    if (track !== undefined) return { kind: "track", track };
    throw new SourceError("changed", "api.deezer.com answered a track without an id or a title");
  }

  async #list({ kind, id }: DeezerPage, { isPreview, signal }: Wanted): Promise<SourceAnswer> {
    const [json, { entries, total }] = await Promise.all([
      this.#api.get(`${kind}/${id}`, { signal }),
      this.#api.list(`${kind}/${id}/tracks`, { limit: LIST_LIMIT, signal }),
    ]);
    const isAlbum = kind === "album";
    const owner = membersOf(isAlbum ? json.artist : json.creator);
    const tracks = readAll(entries, isAlbum ? { isPreview, album: json, artist: owner } : { isPreview });
    if (tracks.length === 0) return { kind: "empty" };
    const pluginInfo = listInfo({
      type: kind,
      url: webLinkOf(json.link) ?? `https://www.deezer.com/${kind}/${id}`,
      artworkUrl: pictureOf(json, isAlbum ? "cover" : "picture"),
      author: trimmedText(owner.name),
      tracks,
      total: json.nb_tracks ?? total,
    });
    return { kind: "playlist", name: trimmedText(json.title) ?? `Unknown ${kind}`, tracks, pluginInfo };
  }

  async #artist(id: string, { isPreview, signal }: Wanted): Promise<SourceAnswer> {
    const [artist, { entries, total }] = await Promise.all([
      this.#api.get(`artist/${id}`, { signal }),
      this.#api.list(`artist/${id}/top`, { limit: TOP_LIMIT, signal }),
    ]);
    const author = trimmedText(artist.name) ?? "Unknown artist";
    const tracks = readAll(entries, { isPreview, artist });
    if (tracks.length === 0) return { kind: "empty" };
    const pluginInfo = listInfo({
      type: "artist",
      url: webLinkOf(artist.link) ?? `https://www.deezer.com/artist/${id}`,
      artworkUrl: pictureOf(artist, "picture"),
      author,
      tracks,
      total,
    });
    return { kind: "playlist", name: topTracksOf(author), tracks, pluginInfo };
  }

  /**
   * Deezer's own choice needs an account; the radio of the artist does not, nor do the artist's top tracks where there
   * is none. A seed that is a track comes first.
   */
  async #recommendations(seed: DeezerPage | undefined, { isPreview, signal }: Wanted): Promise<SourceAnswer> {
    if (seed === undefined) {
      const message = "dzrec: takes the number of a track or an artist: dzrec:3135556, dzrec:track=… or dzrec:artist=…";
      throw new SourceError("invalid", message);
    }
    const first = seed.kind === "track" ? await this.#api.get(`track/${seed.id}`, { signal }) : undefined;
    const artistId = first === undefined ? seed.id : idOf(membersOf(first.artist).id);
    if (artistId === undefined) throw new SourceError("changed", "api.deezer.com answered a track without an artist");
    const isOther = (entry: Members) => idOf(entry.id) !== idOf(first?.id);
    const radio = (await this.#radio(artistId, signal)).filter(isOther);
    const others = radio.length > 0 ? radio : (await this.#entries(`artist/${artistId}/top`, signal)).filter(isOther);
    const tracks = readAll(first === undefined ? others : [first, ...others], { isPreview });
    if (others.length === 0 || tracks.length === 0) return { kind: "empty" };
    const pluginInfo = listInfo({ type: "recommendations", tracks });
    return { kind: "playlist", name: "Deezer Recommendations", tracks, pluginInfo };
  }

  /** None where Deezer does not answer it; rejects while Deezer asks for a pause. */
  async #radio(artistId: string, signal: AbortSignal): Promise<readonly Members[]> {
    const entries = await valueOrTrouble(this.#entries(`artist/${artistId}/radio`, signal), signal);
    if (!(entries instanceof SourceError)) return entries;
    if (entries.kind === "busy") throw entries;
    return [];
  }

  /** None where there is no such list. */
  async #entries(path: string, signal: AbortSignal): Promise<readonly Members[]> {
    try {
      return (await this.#api.list(path, { limit: TOP_LIMIT, signal })).entries;
    } catch (error) {
      if (error instanceof SourceError && error.kind === "not-found") return [];
      throw error;
    }
  }

  /** The link of a preview is signed for a short time, so that it is read again. */
  async #preview({ identifier }: SourceTrack, signal: AbortSignal): Promise<Playable> {
    const id = idOf(identifier);
    if (id === undefined) throw new SourceError("invalid", "a Deezer track must have its number as its identifier");
    const { preview } = await this.#api.get(`track/${id}`, { signal });
    const url = webLinkOf(preview);
    if (url === null) throw new SourceError("unavailable", "Deezer has no preview of this track");
    const [, expiry] = EXPIRY.exec(url) ?? [];
    return {
      kind: "link",
      url,
      variant: `preview/${id}`,
      ...(expiry !== undefined && { expiresAtMs: Number(expiry) * 1000 }),
    };
  }

  /** Undefined where the site does not say it: title and artist are enough to look for the recording. */
  async #isrcOf(identifier: string, signal: AbortSignal): Promise<string | undefined> {
    const id = idOf(identifier);
    if (id === undefined) return undefined;
    try {
      return trimmedText((await this.#api.get(`track/${id}`, { signal })).isrc);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SourceError) return undefined;
      throw error;
    }
  }

  /** Follows a share link while it stays at Deezer; no page is fetched. Undefined: it leads nowhere. */
  async #follow(first: ShareLink, signal: AbortSignal): Promise<DeezerPage | OtherPage | undefined> {
    let { url } = first;
    for (let count = 0; count < SHARE_LINKS_MAX; count++) {
      const location = await this.#locationOf(url, signal);
      const target = location === undefined ? undefined : targetOf(location);
      if (target?.kind !== "shareLink") return target;
      url = target.url;
    }
    throw new SourceError("changed", `a share link of Deezer goes through more than ${SHARE_LINKS_MAX} others`);
  }

  #locationOf(url: string, signal: AbortSignal): Promise<URL | undefined> {
    const { http } = this.#host;
    return this.#host.backend("share links").run(async () => {
      const answer = await http.request(url, { signal, redirect: "manual" });
      const { location } = answer.headers;
      if (location !== undefined) return addressOf(location, url);
      if (answer.status >= 400) throw http.statusError(answer);
      throw new SourceError("changed", "a share link of Deezer did not answer with a redirect");
    });
  }
}

/** A list that a search has found; an artist is named as the list that its page loads. */
function readList(kind: Exclude<DeezerPage["kind"], "track">, json: Members): SearchList | undefined {
  const isArtist = kind === "artist";
  const [id, name] = [idOf(json.id), trimmedText(isArtist ? json.name : json.title)];
  if (id === undefined || name === undefined) return undefined;
  const owner = membersOf(kind === "album" ? json.artist : (json.creator ?? json.user));
  return {
    name: isArtist ? topTracksOf(name) : name,
    url: webLinkOf(json.link) ?? `https://www.deezer.com/${kind}/${id}`,
    artworkUrl: pictureOf(json, kind === "album" ? "cover" : "picture") ?? undefined,
    author: isArtist ? name : trimmedText(owner.name),
    totalTracks: countOf(json.nb_tracks),
  };
}

/** Where a redirect leads: the page itself, or the one in its parameter `dest`. Undefined: to its page for nothing. */
function targetOf(location: URL): ReturnType<typeof parseLink> {
  const found = [location.searchParams.get("dest") ?? "", location.href].map(parseLink).find((target) => target);
  if (found !== undefined || /\/404\/?$/.test(location.pathname)) return found;
  const message = `this share link of Deezer leads to ${location.hostname}, and to no track or list of Deezer's`;
  throw new SourceError("unavailable", message);
}

/**
 * The tracks among the entries; also those that Deezer itself does not play in the node's country. Of previews, those
 * that have one.
 */
function readAll(entries: readonly Members[], options: Parameters<typeof readTrack>[1]): SourceTrack[] {
  const tracks = entries.flatMap((entry) => readTrack(entry, options) ?? []);
  return options.isPreview ? tracks.filter(({ fields }) => fields?.previewUrl !== null) : tracks;
}
