// The source `spotify`: from what an identifier asks for to what a client gets. Plugin thread.

import {
  type LoadRequest,
  type Playable,
  type ResolveRequest,
  type SearchRequest,
  type SearchResult,
  type SourceAnswer,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import type { IsrcIndex } from "../reading/isrc-index.ts";
import { topTracksOf } from "../reading/list-info.ts";
import { type FoundTrack, idIn, LOCAL_ID, listInfoOf, pageOf, sourceTrackOf } from "./found.ts";
import { type Item, isItemType, parseIdentifier, type Seed, type SpotifyTarget } from "./identifier.ts";
import type { SpotifyLoader } from "./loader.ts";
import type { ShortLinks } from "./short-links.ts";

const PODCAST =
  "podcasts of Spotify are not supported: their audio is only at Spotify. Load the podcast's feed or its name with podcast:";
/** In the words of LavaSrc. */
const MADE_BY_SPOTIFY = "Spotify generated playlists are no longer accessible via anonymous tokens.";
const MADE_BY_SPOTIFY_ID = "37i9dQZ";
const PREVIEW_LINK = /^https:\/\/(?:[a-z\d-]+\.)+scdn\.co\//;

interface SpotifySourceOptions {
  readonly loader: SpotifyLoader;
  readonly shortLinks: ShortLinks;
  readonly isrcs: IsrcIndex;
}

export class SpotifySource {
  readonly #options: SpotifySourceOptions;

  constructor(options: SpotifySourceOptions) {
    this.#options = options;
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const request = parseIdentifier(identifier);
    if (request === undefined) return undefined;
    const { target, isPreview } = request;
    const found = target.kind === "shortLink" ? await this.#options.shortLinks.follow(target.url, signal) : target;
    return found === undefined ? { kind: "empty" } : this.#answer(found, isPreview, signal);
  }

  /** Spotify has no suggestions of texts. */
  async search({ query, types, signal }: SearchRequest): Promise<SearchResult | undefined> {
    const target = parseIdentifier(query)?.target;
    const itemTypes = types.filter(isItemType);
    if (target?.kind !== "search" || target.query === "" || itemTypes.length === 0) return undefined;
    const found = await this.#options.loader.search(target.query, itemTypes, signal);
    return found && { ...found, tracks: found.tracks.map((track) => sourceTrackOf(track, { isPreview: false })) };
  }

  async resolve(request: ResolveRequest): Promise<Playable> {
    const { track, signal } = request;
    // A client may have written it.
    const id = idIn(`spotify:track:${track.identifier}`, "track");
    if (track.fields?.isPreview === true) return { kind: "link", url: await this.#previewUrl(request, id) };
    if (track.isrc != null && track.isrc !== "") return { kind: "mirror" };
    const isLocal = id === undefined || id === LOCAL_ID;
    const isrc = isLocal ? undefined : await this.#options.loader.isrc(id, signal);
    return { kind: "mirror", isrc: isrc ?? (await this.#options.isrcs.find(track, signal)) };
  }

  async #previewUrl(
    { track, reason, mustAskSite = false, signal }: ResolveRequest,
    id: string | undefined,
  ): Promise<string> {
    const known = mustAskSite || reason !== "start" ? null : webLinkOf(track.fields?.previewUrl);
    // A client may have written any other one.
    if (known !== null && PREVIEW_LINK.test(known)) return known;
    if (id === undefined) throw new SourceError("invalid", "a track of Spotify must have its id as its identifier");
    const url = await this.#options.loader.previewUrl(id, signal);
    if (url === undefined) throw new SourceError("unavailable", "Spotify has no preview of this track");
    return url;
  }

  async #answer(target: SpotifyTarget, isPreview: boolean, signal: AbortSignal): Promise<SourceAnswer | undefined> {
    const { loader } = this.#options;
    switch (target.kind) {
      case "search": {
        if (target.query === "") return { kind: "empty" };
        const { tracks = [] } = (await loader.search(target.query, ["track"], signal)) ?? {};
        if (tracks.length === 0) return { kind: "empty" };
        return { kind: "search", tracks: tracks.map((track) => sourceTrackOf(track, { isPreview })) };
      }
      case "recommendations":
        return recommended(await this.#recommend(target.seed, signal), isPreview);
      case "item":
        return target.item.type === "track"
          ? this.#track(target.item.id, isPreview, signal)
          : this.#list(target.item, isPreview, signal);
      case "podcast":
        throw new SourceError("unavailable", PODCAST);
      default:
        return undefined;
    }
  }

  async #track(id: string, isPreview: boolean, signal: AbortSignal): Promise<SourceAnswer> {
    const found = await this.#options.loader.track(id, signal);
    return found === undefined ? { kind: "empty" } : { kind: "track", track: sourceTrackOf(found, { isPreview }) };
  }

  async #list(item: Item, isPreview: boolean, signal: AbortSignal): Promise<SourceAnswer> {
    const list = await this.#readList(item, signal);
    if (list === undefined || list.tracks.length === 0) return { kind: "empty" };
    const { type, id } = item;
    const tracks = list.tracks.map((track) => sourceTrackOf(track, { isPreview }));
    const name = type === "artist" ? topTracksOf(list.name) : list.name;
    return { kind: "playlist", name, tracks, pluginInfo: listInfoOf(list, { type, url: pageOf(type, id) }) };
  }

  async #readList(item: Item, signal: AbortSignal): ReturnType<SpotifyLoader["list"]> {
    const isMadeBySpotify = item.type === "playlist" && item.id.startsWith(MADE_BY_SPOTIFY_ID);
    try {
      const list = await this.#options.loader.list(item, signal);
      if (list !== undefined || !isMadeBySpotify) return list;
    } catch (error) {
      const isRefusal = error instanceof SourceError && (error.kind === "changed" || error.kind === "unavailable");
      if (!isMadeBySpotify || !isRefusal) throw error;
    }
    throw new SourceError("unavailable", MADE_BY_SPOTIFY);
  }

  /** Tracks that resemble one: that of the seed, or the first one of its album, playlist or artist. */
  async #recommend(seed: Seed, signal: AbortSignal): Promise<readonly FoundTrack[]> {
    const { loader } = this.#options;
    if (seed.type === "track") return loader.recommendations(seed.id, signal);
    const { type, id } = seed;
    const found =
      type === "isrc"
        ? ((await loader.search(`isrc:${id}`, ["track"], signal))?.tracks ?? [])
        : ((await loader.list({ type, id }, signal))?.tracks ?? []);
    const first = found.find((track) => track.id !== LOCAL_ID);
    return first === undefined ? [] : loader.recommendations(first.id, signal);
  }
}

function recommended(found: readonly FoundTrack[], isPreview: boolean): SourceAnswer {
  if (found.length === 0) return { kind: "empty" };
  const name = "Spotify Recommendations";
  const list = { name, tracks: found, entryCount: found.length, totalCount: found.length };
  const tracks = found.map((track) => sourceTrackOf(track, { isPreview }));
  return { kind: "playlist", name, tracks, pluginInfo: listInfoOf(list, { type: "recommendations", url: null }) };
}
