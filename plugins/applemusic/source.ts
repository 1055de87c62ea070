// The source `applemusic`: from what an identifier asks for to what a client gets. Plugin thread.

import {
  type LoadRequest,
  type Playable,
  type ResolveRequest,
  type SearchRequest,
  type SearchResult,
  type SearchType,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import { type Members, membersOf, numberOf, objectsOf, trimmedText } from "../reading/json.ts";
import { listInfo, topTracksOf } from "../reading/list-info.ts";
import { AppleMusicApi } from "./api.ts";
import { type AppleMusicItem, type AppleMusicRequest, countryOf, parseIdentifier } from "./identifier.ts";
import { artworkOf, previewOf, readSong } from "./read-song.ts";
import { readSuggestions } from "./read-suggestions.ts";
import { AppleTokens, type Host } from "./tokens.ts";

const SEARCH_LIMIT = 25;
const TOP_SONGS_MAX = 100;
const COUNTRY = "us";
/** The API's names of what can be searched. */
const TYPES: Readonly<Partial<Record<SearchType, string>>> = {
  track: "songs",
  album: "albums",
  artist: "artists",
  playlist: "playlists",
};

interface Wanted {
  readonly isPreview: boolean;
  readonly signal: AbortSignal;
}

export class AppleMusicSource {
  readonly #host: Host;
  readonly #api: AppleMusicApi;
  readonly #country: string;

  constructor(host: Host) {
    this.#host = host;
    this.#api = new AppleMusicApi(host, new AppleTokens(host));
    const country = host.options.countryCode.trim().toLowerCase();
    this.#country = /^[a-z]{2}$/.test(country) ? country : COUNTRY;
    if (this.#country !== country) host.log.warn(`countryCode is not two letters (ISO 3166): ${COUNTRY} is used`);
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const parsed = parseIdentifier(identifier);
    return parsed && this.#answer(parsed.request, { isPreview: parsed.isPreview, signal });
  }

  async search({ query, types, signal }: SearchRequest): Promise<SearchResult | undefined> {
    const request = parseIdentifier(query)?.request;
    if (request?.kind !== "search" || request.query === "") return undefined;
    const items = types.flatMap((type) => TYPES[type] ?? []);
    const kinds = [...(types.includes("text") ? ["terms"] : []), ...(items.length > 0 ? ["topResults"] : [])];
    const json = await this.#api.get({
      path: `${this.#country}/search/suggestions`,
      query: {
        term: request.query,
        kinds: kinds.join(","),
        extend: "artistUrl",
        ...(items.length > 0 && { types: items.join(",") }),
      },
      signal,
    });
    const found = readSuggestions(json);
    if (found === undefined) throw new SourceError("changed", "Apple Music answered a search without suggestions");
    return found;
  }

  async resolve({ track, signal }: ResolveRequest): Promise<Playable> {
    if (track.fields?.isPreview === true) return this.#preview(track, signal);
    return { kind: "mirror", isrc: trimmedText(track.isrc) ?? (await this.#isrcOf(track, signal)) };
  }

  async #answer(request: AppleMusicRequest, wanted: Wanted): Promise<SourceAnswer> {
    switch (request.kind) {
      case "search":
        return this.#search(request.query, wanted);
      case "song":
        return this.#song(request, wanted);
      case "album":
      case "playlist":
        return this.#list(request, wanted);
      case "artist":
        return this.#artist(request, wanted);
      case "refused":
        throw new SourceError("unavailable", request.reason);
    }
  }

  async #search(term: string, { isPreview, signal }: Wanted): Promise<SourceAnswer> {
    if (term === "") return { kind: "empty" };
    const query = { term, limit: SEARCH_LIMIT, types: "songs", extend: "artistUrl" };
    const { results } = await this.#api.get({ path: `${this.#country}/search`, query, signal });
    if (typeof results !== "object" || results === null) {
      throw new SourceError("changed", "Apple Music answered a search without results");
    }
    const songs = objectsOf(membersOf(membersOf(results).songs).data, SEARCH_LIMIT);
    return { kind: "search", tracks: readAll(songs, { isPreview }) };
  }

  async #song(item: AppleMusicItem, { isPreview, signal }: Wanted): Promise<SourceAnswer> {
    const track = readSong(await this.#item(item, signal), { isPreview });
    if (track !== undefined) return { kind: "track", track };
    throw new SourceError("changed", "Apple Music answered a song without an id or a name");
  }

  async #list(item: AppleMusicItem, { isPreview, signal }: Wanted): Promise<SourceAnswer> {
    const { kind } = item;
    const limitOption = `${kind === "album" ? "album" : "playlist"}LoadLimit` as const;
    const pagesMax = this.#host.options[limitOption];
    const found = this.#item(item, signal);
    const total = found.then(({ attributes }) => numberOf(membersOf(attributes).trackCount)).catch(() => undefined);
    const entries = this.#api.list(`${this.#pathOf(item)}/tracks`, { pagesMax, limitOption, total, signal });
    const [{ attributes }, songs] = await Promise.all([found, entries]);
    const json = membersOf(attributes);
    const tracks = readAll(songs, { isPreview });
    if (tracks.length === 0) return { kind: "empty" };
    const pluginInfo = listInfo({
      type: kind,
      url: webLinkOf(json.url),
      artworkUrl: artworkOf(json.artwork),
      author: trimmedText(kind === "album" ? json.artistName : json.curatorName),
      tracks,
      total: json.trackCount,
    });
    return { kind: "playlist", name: trimmedText(json.name) ?? `Unknown ${kind}`, tracks, pluginInfo };
  }

  async #artist(item: AppleMusicItem, { isPreview, signal }: Wanted): Promise<SourceAnswer> {
    const [{ attributes }, { data }] = await Promise.all([
      this.#item(item, signal),
      this.#api.get({ path: `${this.#pathOf(item)}/view/top-songs`, signal }),
    ]);
    const json = membersOf(attributes);
    const author = trimmedText(json.name) ?? "Unknown artist";
    const artworkUrl = artworkOf(json.artwork);
    const tracks = readAll(objectsOf(data, TOP_SONGS_MAX), { isPreview, artistArtworkUrl: artworkUrl });
    if (tracks.length === 0) return { kind: "empty" };
    const pluginInfo = listInfo({ type: "artist", url: webLinkOf(json.url), artworkUrl, author, tracks });
    return { kind: "playlist", name: topTracksOf(author), tracks, pluginInfo };
  }

  #item(item: AppleMusicItem, signal: AbortSignal): Promise<Members> {
    const query = item.kind === "song" ? { extend: "artistUrl" } : {};
    return this.#api.item({ path: this.#pathOf(item), query, signal });
  }

  #pathOf({ kind, id, country = this.#country }: AppleMusicItem): string {
    return `${country}/${kind}s/${id}`;
  }

  /** Read from the site again: a track may be old, or its fields another's. */
  async #preview(track: SourceTrack, signal: AbortSignal): Promise<Playable> {
    const item = this.#songOf(track);
    if (item === undefined) throw new SourceError("invalid", "an Apple Music track must have its number as identifier");
    const { attributes } = await this.#item(item, signal);
    const url = previewOf(membersOf(attributes));
    if (url === null) throw new SourceError("unavailable", "Apple Music has no preview of this track");
    return { kind: "link", url, variant: `preview/${item.id}` };
  }

  /** Undefined where the site does not say it: title and artist are enough to look for the recording. */
  async #isrcOf(track: SourceTrack, signal: AbortSignal): Promise<string | undefined> {
    const item = this.#songOf(track);
    if (item === undefined) return undefined;
    try {
      return trimmedText(membersOf((await this.#item(item, signal)).attributes).isrc);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SourceError) return undefined;
      throw error;
    }
  }

  /** The song of an encoded track, in the country of its page. */
  #songOf({ identifier: id, uri }: SourceTrack): AppleMusicItem | undefined {
    return /^\d{1,19}$/.test(id) ? { kind: "song", id, country: countryOf(uri ?? "") } : undefined;
  }
}

/** The songs among the entries; of previews, those that have one. */
function readAll(entries: readonly Members[], options: Parameters<typeof readSong>[1]): SourceTrack[] {
  const tracks = entries.flatMap((entry) => readSong(entry, options) ?? []);
  return options.isPreview ? tracks.filter(({ fields }) => fields?.previewUrl !== null) : tracks;
}
