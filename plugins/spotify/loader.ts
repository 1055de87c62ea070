// Loads what Spotify knows of its items, with several backends for each errand: when one fails, the next one is asked.
// Plugin thread.

import { type OptionValues, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import type { Members } from "../reading/json.ts";
import type { EmbedPages } from "./embed-pages.ts";
import { type FoundItems, type FoundList, type FoundTrack, pageOf } from "./found.ts";
import type { Item, ItemType } from "./identifier.ts";
import { completeList } from "./list-pages.ts";
import type { SPOTIFY_MANIFEST } from "./manifest.ts";
import type { Pathfinder } from "./pathfinder.ts";
import { readEmbedList, readEmbedTrack } from "./read-embed.ts";
import { readAlbum, readArtist, readPlaylist, readRecommendations, readSearch, readTrack } from "./read-pathfinder.ts";
import { ALBUM_PAGE_SIZE, type WebApi } from "./web-api.ts";

const PLAYLIST_PAGE_SIZE = 100;
/** An embed page shows no more of a list. */
const EMBED_ENTRIES_MAX = 100;
/** The node takes no more. */
const ENTRIES_MAX = 10_000;
const ARTIST_TRACKS_MAX = 100;
const SEARCH_LIMIT = 10;
/** Less than the node waits for, so that an outage is noticed here, and with time left for another index. */
const ISRC_TIMEOUT_MS = 900;

type Host = PluginHost<OptionValues<typeof SPOTIFY_MANIFEST.config>>;
type Ask<Value> = () => Promise<Value>;

interface SpotifyBackends {
  readonly pages: EmbedPages;
  readonly pathfinder: Pathfinder;
  readonly webApi: WebApi;
}

export class SpotifyLoader {
  readonly #host: Host;
  readonly #backends: SpotifyBackends;

  constructor(host: Host, backends: SpotifyBackends) {
    this.#host = host;
    this.#backends = backends;
  }

  /** Undefined: nothing is found. */
  search(query: string, types: readonly ItemType[], signal: AbortSignal): Promise<FoundItems | undefined> {
    const { webApi, pathfinder } = this.#backends;
    const { preferPartnerApi, preferV1SearchApi } = this.#host.options;
    const byApi: Ask<FoundItems>[] = webApi.isSet ? [() => webApi.search(query, types, signal)] : [];
    const byPlayer = async (): Promise<FoundItems> => {
      const wanted = { searchTerm: query, offset: 0, limit: SEARCH_LIMIT, numberOfTopResults: 5 };
      const parts = { includeAudiobooks: true, includeArtistHasConcertsField: false };
      const variables = { ...wanted, ...parts, includePreReleases: true, includeAuthors: false };
      return pathfinder.ask({ operation: "searchDesktop", variables }, readSearch, signal);
    };
    const isPlayerFirst = preferPartnerApi && !preferV1SearchApi;
    return inOrder(isPlayerFirst ? [byPlayer, ...byApi] : [...byApi, byPlayer], signal);
  }

  /** Undefined: there is no such track. */
  track(id: string, signal: AbortSignal): Promise<FoundTrack | undefined> {
    const { webApi, pages, pathfinder } = this.#backends;
    const byApi: Ask<FoundTrack>[] = webApi.isSet ? [() => webApi.track(id, signal)] : [];
    const item = { type: "track", id } as const;
    const byPage = (): Promise<FoundTrack> => pages.item(item, (entity) => readEmbedTrack(entity, id), signal);
    const query = { operation: "getTrack", item, variables: { uri: uriOf(item) } } as const;
    const byPlayer = (): Promise<FoundTrack> => pathfinder.ask(query, readTrack, signal);
    const { preferPartnerApi } = this.#host.options;
    return inOrder(preferPartnerApi ? [byPlayer, ...byApi, byPage] : [...byApi, byPage, byPlayer], signal);
  }

  /** Undefined: there is no such list. */
  list(item: Item, signal: AbortSignal): Promise<FoundList | undefined> {
    const byPage = (): Promise<FoundList> => this.#byPage(item, signal);
    const byPlayer = (): Promise<FoundList> => this.#byPlayer(item, signal);
    const byApi: Ask<FoundList>[] = this.#hasApi(item) ? [() => this.#byApi(item, signal)] : [];
    const { preferPartnerApi } = this.#host.options;
    return inOrder(preferPartnerApi ? [byPlayer, byPage, ...byApi] : [byPage, byPlayer, ...byApi], signal);
  }

  /** Tracks that resemble a track. */
  async recommendations(id: string, signal: AbortSignal): Promise<readonly FoundTrack[]> {
    const item = { type: "track", id } as const;
    const query = { operation: "internalLinkRecommenderTrack", item, variables: { uri: uriOf(item) } } as const;
    return this.#backends.pathfinder.ask(query, readRecommendations, signal);
  }

  /** The address of a track's preview; undefined: there is none. */
  async previewUrl(id: string, signal: AbortSignal): Promise<string | undefined> {
    const read = (entity: Members): FoundTrack | undefined => readEmbedTrack(entity, id);
    return (await this.#backends.pages.item({ type: "track", id }, read, signal)).previewUrl;
  }

  /** From the Web API, where there are credentials, within 0.9 s; undefined: not known. */
  async isrc(id: string, signal: AbortSignal): Promise<string | undefined> {
    const { webApi } = this.#backends;
    if (!webApi.isSet) return undefined;
    try {
      return (await webApi.track(id, signal, { timeoutMs: ISRC_TIMEOUT_MS })).isrc;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SourceError)) throw error;
      return undefined;
    }
  }

  /** The first entries by the embed page, the rest by other backends. */
  async #byPage(item: Item, signal: AbortSignal): Promise<FoundList> {
    const { localFiles } = this.#host.options;
    const limits = { entriesMax: this.#limitsOf(item).entriesMax, localFiles };
    const list = await this.#backends.pages.item(item, (entity) => readEmbedList(entity, item, limits), signal);
    const { entryCount } = list;
    const isWhole = item.type === "artist" || entryCount < EMBED_ENTRIES_MAX;
    return isWhole ? { ...list, totalCount: entryCount } : this.#complete(item, list, signal);
  }

  async #byPlayer(item: Item, signal: AbortSignal): Promise<FoundList> {
    const first = await this.#playerPage(item, { offset: 0, limit: this.#limitsOf(item).pageSize }, signal);
    return item.type === "artist" ? first : this.#complete(item, first, signal);
  }

  async #byApi(item: Item, signal: AbortSignal): Promise<FoundList> {
    return this.#complete(item, await this.#backends.webApi.album(item.id, signal), signal);
  }

  async #complete(item: Item, first: FoundList, signal: AbortSignal): Promise<FoundList> {
    const { webApi } = this.#backends;
    const page = async (offset: number, limit: number): Promise<FoundList> => {
      const byPlayer = (): Promise<FoundList> => this.#playerPage(item, { offset, limit }, signal);
      const byApi = this.#hasApi(item) ? [() => webApi.albumPage(first, item.id, { offset, limit, signal })] : [];
      const found = await inOrder<FoundList>([byPlayer, ...byApi], signal);
      if (found !== undefined) return found;
      throw new SourceError("not-found", `Spotify has no ${item.type} ${item.id} any more`);
    };
    const { list, trouble } = await completeList(first, { signal, page, ...this.#limitsOf(item) });
    if (trouble !== undefined) {
      const { length } = list.tracks;
      const url = pageOf(item.type, item.id);
      this.#host.log.warn(`only a part of a list of Spotify could be loaded: ${trouble.message}`, {
        url,
        tracks: length,
      });
    }
    return list;
  }

  /** The entries of a list from `offset`, at most as many as a page has. */
  #playerPage(
    item: Item,
    { offset, limit }: { readonly offset: number; readonly limit: number },
    signal: AbortSignal,
  ): Promise<FoundList> {
    const { pathfinder } = this.#backends;
    const uri = uriOf(item);
    const limits = { entriesMax: limit, localFiles: this.#host.options.localFiles };
    const window = { uri, offset, limit };
    if (item.type === "playlist") {
      const variables = { ...window, enableWatchFeedEntrypoint: false };
      return pathfinder.ask(
        { operation: "fetchPlaylist", item, variables },
        (list) => readPlaylist(list, limits),
        signal,
      );
    }
    if (item.type === "album") {
      const variables = { ...window, locale: "en" };
      return pathfinder.ask({ operation: "getAlbum", item, variables }, (list) => readAlbum(list, limits), signal);
    }
    const variables = { uri, locale: "en", includePrerelease: true };
    const read = (artist: Members): FoundList | undefined => readArtist(artist, limits);
    return pathfinder.ask({ operation: "queryArtistOverview", item, variables }, read, signal);
  }

  #hasApi({ type }: Item): boolean {
    return type === "album" && this.#backends.webApi.isSet;
  }

  #limitsOf({ type }: Item): { readonly pageSize: number; readonly entriesMax: number } {
    const { playlistLoadLimit, albumLoadLimit } = this.#host.options;
    if (type === "artist") return { pageSize: ARTIST_TRACKS_MAX, entriesMax: ARTIST_TRACKS_MAX };
    const [pageSize, pages] =
      type === "album" ? [ALBUM_PAGE_SIZE, albumLoadLimit] : [PLAYLIST_PAGE_SIZE, playlistLoadLimit];
    return { pageSize, entriesMax: Math.min(pageSize * Math.max(pages, 1), ENTRIES_MAX) };
  }
}

/** The first value that a backend has. Undefined: one of them says that there is none. Rejects if none answers. */
async function inOrder<Value>(asks: readonly Ask<Value>[], signal: AbortSignal): Promise<Value | undefined> {
  const troubles: SourceError[] = [];
  let isMissing = false;
  for (const ask of asks) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SourceError)) throw error;
      if (error.kind === "not-found") isMissing = true;
      else troubles.push(error);
    }
  }
  const [first] = troubles;
  if (isMissing || first === undefined) return undefined;
  if (troubles.length === 1) throw first;
  const messages = new Set(troubles.map(({ message }) => message));
  throw new SourceError(first.kind, [...messages].join("; "), { cause: first });
}

function uriOf({ type, id }: Item): string {
  return `spotify:${type}:${id}`;
}
