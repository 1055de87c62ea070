// The source `tidal`: what each identifier asks of Tidal's API, and its answers as tracks and playlists. Plugin thread.

import {
  type LoadRequest,
  type PluginHost,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { type Members, membersOf, objectsOf } from "../reading/json.ts";
import { listInfo, topTracksOf } from "../reading/list-info.ts";
import { valueOrTrouble } from "../reading/trouble.ts";
import { type Query, TidalApi, type TidalDocument, type TidalOptions } from "./api.ts";
import { parseIdentifier } from "./identifier.ts";
import { pageOf, TidalResources, textAttribute } from "./resources.ts";

const COUNTRY = "US";
const TRACKS_MAX = 1000;
/** A page has 20 tracks, and pages can only be asked one after the other. A load ends after 20 s. */
const PAGES_MAX = 50;
const PAGING_MS = 14_000;

interface ListRequest {
  readonly path: string;
  /** The relationship that has the tracks. */
  readonly relationship: string;
  readonly query?: Query;
  /** The album whose tracks they are. */
  readonly album?: Members | undefined;
  readonly resources?: TidalResources;
  /** Default: all that there are. */
  readonly pagesMax?: number;
  readonly signal: AbortSignal;
}

export class TidalSource {
  readonly #host: PluginHost<TidalOptions>;
  readonly #api: TidalApi;
  /** How the API takes searches: as a parameter since 2026-08, in the path before. */
  #searchesByPath = false;

  constructor(host: PluginHost<TidalOptions>) {
    this.#host = host;
    const written = host.options.countryCode.trim().toUpperCase() || COUNTRY;
    const country = /^[A-Z]{2}$/.test(written) ? written : COUNTRY;
    if (country !== written) host.log.warn(`countryCode is not two letters (ISO 3166): ${COUNTRY} is used`);
    this.#api = new TidalApi(host, country);
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const request = parseIdentifier(identifier);
    switch (request?.kind) {
      case undefined:
        return undefined;
      case "search":
        return request.query === "" ? { kind: "empty" } : this.#search(request.query, signal);
      case "track":
        return this.#track(request.id, signal);
      case "similar":
        return this.#similar(request.id, signal);
      case "artist":
        return this.#artist(request.id, signal);
      case "album":
        return this.#list("album", request.id, signal);
      case "playlist":
        return this.#list("playlist", request.id, signal);
      case "mix":
        return this.#mix(request.id, signal);
    }
  }

  async #track(id: string, signal: AbortSignal): Promise<SourceAnswer> {
    const document = await this.#api.get(`/tracks/${id}`, { include: "artists,albums,albums.coverArt" }, signal);
    const resources = new TidalResources();
    resources.add(document);
    const track = document.data.map((found) => resources.track(found)).find((found) => found !== undefined);
    return track === undefined ? { kind: "empty" } : { kind: "track", track };
  }

  async #search(query: string, signal: AbortSignal): Promise<SourceAnswer> {
    const document = await this.#searchDocument(query, signal);
    const resources = new TidalResources();
    resources.add(document);
    // The results' own order; the included ones are in none.
    const references = document.data.flatMap((found) => {
      if (found.type === "tracks") return [found];
      return objectsOf(membersOf(membersOf(found.relationships).tracks).data, TRACKS_MAX);
    });
    const tracks = references.flatMap((reference) => resources.track(reference) ?? []);
    return { kind: "search", tracks: tracks.slice(0, this.#host.options.searchLimit) };
  }

  /** In the form that the API has answered last, and in the other one where it does not take that. */
  async #searchDocument(query: string, signal: AbortSignal): Promise<TidalDocument> {
    const wasByPath = this.#searchesByPath;
    const found = await valueOrTrouble(this.#searchIn(query, { isByPath: wasByPath, signal }), signal);
    if (!(found instanceof SourceError)) return found;
    if (found.kind !== "not-found" && (wasByPath || found.kind !== "unavailable")) throw found;
    const other = await valueOrTrouble(this.#searchIn(query, { isByPath: !wasByPath, signal }), signal);
    if (other instanceof SourceError) throw other.kind === "not-found" ? found : other;
    this.#searchesByPath = !wasByPath;
    return other;
  }

  #searchIn(
    query: string,
    { isByPath, signal }: { readonly isByPath: boolean; readonly signal: AbortSignal },
  ): Promise<TidalDocument> {
    const include = withParts("tracks");
    if (!isByPath) return this.#api.get("/searchResults", { "filter[query]": query, include }, signal);
    const path = `/searchResults/${encodeURIComponent(query)}/relationships/tracks`;
    return this.#api.get(path, { include }, signal);
  }

  async #similar(id: string, signal: AbortSignal): Promise<SourceAnswer> {
    const relationship = "similarTracks";
    const tracks = await this.#tracks({ path: `/tracks/${id}`, relationship, pagesMax: 1, signal });
    if (tracks.length === 0) return { kind: "empty" };
    return {
      kind: "playlist",
      name: "Tidal Recommendations",
      tracks,
      pluginInfo: listInfo({ type: "recommendations", tracks }),
    };
  }

  async #artist(id: string, signal: AbortSignal): Promise<SourceAnswer> {
    const path = `/artists/${id}`;
    const [{ artist, resources }, tracks] = await Promise.all([
      this.#head(path, "profileArt", signal).then(({ data, ...rest }) => ({ artist: data, ...rest })),
      this.#tracks({ path, relationship: "tracks", query: { collapseBy: "FINGERPRINT" }, pagesMax: 1, signal }),
    ]);
    const author = textAttribute(artist, "name") ?? id;
    const artworkUrl = resources.artworkOf(artist, "profileArt");
    const pluginInfo = listInfo({ type: "artist", url: pageOf("artist", { id }), artworkUrl, author, tracks });
    return tracks.length === 0
      ? { kind: "empty" }
      : { kind: "playlist", name: topTracksOf(author), tracks, pluginInfo };
  }

  async #list(kind: "album" | "playlist", id: string, signal: AbortSignal): Promise<SourceAnswer> {
    const path = `/${kind}s/${id}`;
    const { data, resources } = await this.#head(path, kind === "album" ? "artists,coverArt" : "coverArt", signal);
    const album = kind === "album" ? data : undefined;
    const tracks = await this.#tracks({ path, relationship: "items", album, resources, signal });
    if (tracks.length === 0) return { kind: "empty" };
    return {
      kind: "playlist",
      name: textAttribute(data, "title") ?? textAttribute(data, "name") ?? id,
      tracks,
      pluginInfo: listInfo({
        type: kind,
        url: pageOf(kind, { id }),
        artworkUrl: resources.artworkOf(data),
        author: resources.authorOf(data),
        tracks,
      }),
    };
  }

  /** The API knows some of them as playlists. */
  async #mix(id: string, signal: AbortSignal): Promise<SourceAnswer> {
    try {
      return await this.#list("playlist", id, signal);
    } catch (error) {
      if (!(error instanceof SourceError) || error.kind !== "not-found") throw error;
      const message = "Tidal shows this mix in its own apps only; make a playlist of it, and load that";
      throw new SourceError("unavailable", message, { cause: error });
    }
  }

  /** The album, playlist or artist itself. */
  async #head(
    path: string,
    include: string,
    signal: AbortSignal,
  ): Promise<{ readonly data: Members | undefined; readonly resources: TidalResources }> {
    const document = await this.#api.get(path, { include }, signal);
    const resources = new TidalResources();
    resources.add(document);
    return { data: document.data[0], resources };
  }

  /**
   * All pages of a list of tracks. What is no track, or not there any more, is left out. What could be read is returned
   * if a later page fails.
   */
  async #tracks(request: ListRequest): Promise<SourceTrack[]> {
    const {
      path,
      relationship,
      query,
      album,
      resources = new TidalResources(),
      pagesMax = PAGES_MAX,
      signal,
    } = request;
    const { clock, log } = this.#host;
    const first = { ...query, include: withParts(relationship) };
    const endMs = clock.now() + PAGING_MS;
    const seen = new Set<string>();
    const tracks: SourceTrack[] = [];
    for (let page: Query | undefined = first; page !== undefined; ) {
      seen.add(JSON.stringify(page));
      const asked = this.#api.get(`${path}/relationships/${relationship}`, page, signal);
      const document = tracks.length === 0 ? await asked : await valueOrTrouble(asked, signal);
      if (document instanceof SourceError) {
        log.info(`a list was cut at ${tracks.length} tracks: ${document.message}`);
        break;
      }
      resources.add(document);
      tracks.push(...document.data.flatMap((reference) => resources.track(reference, album) ?? []));
      page = document.next === undefined ? undefined : { ...first, ...document.next };
      // A page may name itself, or one before it.
      if (page === undefined || pagesMax === 1 || seen.has(JSON.stringify(page))) break;
      if (tracks.length < TRACKS_MAX && seen.size < pagesMax && clock.now() < endMs) continue;
      log.info(`a list was cut at ${tracks.length} tracks: Tidal answers only some 20 at a time`);
      break;
    }
    return tracks.slice(0, TRACKS_MAX);
  }
}

/** What to include for tracks of this relationship to be complete. */
function withParts(relationship: string): string {
  const parts = ["artists", "albums", "albums.coverArt"].map((part) => `${relationship}.${part}`);
  return [relationship, ...parts].join(",");
}
