// The source `soundcloud`: from what an identifier asks for to what a client gets. Plugin thread.

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
import { addressOf } from "../reading/address.ts";
import { type Members, numberOf, objectOf } from "../reading/json.ts";
import { settledOf } from "../reading/partly.ts";
import { parseIdentifier, parseLink, type SoundCloudRequest, type UserList } from "./identifier.ts";
import { type FoundSet, type FoundUser, readUser, type SoundCloudLoader } from "./loader.ts";
import { BLOCKED, NOT_AVAILABLE, ONLY_A_PREVIEW, type SoundCloudPlayback } from "./playback.ts";
import { textOf, webAddressOf } from "./read-json.ts";
import { artworkOf, type FoundTrack } from "./read-track.ts";

const SHORT_LINKS_MAX = 3;
/** That all of a search is hidden is not logged more often. */
const HIDDEN_LOG_MS = 60 * 60_000;
const LIST_NAMES: Readonly<Record<UserList, string>> = {
  tracks: "Tracks by",
  likes: "Liked by",
  reposts: "Reposted by",
};

const LIST_KINDS = { album: "albums", artist: "users", playlist: "playlists_without_albums" } as const;

type RequestOfKind<Kind extends SoundCloudRequest["kind"]> = Extract<SoundCloudRequest, { readonly kind: Kind }>;

interface SoundCloudSourceOptions {
  readonly loader: SoundCloudLoader;
  readonly playback: SoundCloudPlayback;
  readonly searchEnabled: boolean;
  readonly filterOutPreviewTracks: boolean;
  /** `last`, `hide` or `keep`: where a search has tracks that are protected by DRM. */
  readonly encryptedTracks: string;
}

export class SoundCloudSource {
  readonly #host: PluginHost;
  readonly #options: SoundCloudSourceOptions;
  #hiddenLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(host: PluginHost, options: SoundCloudSourceOptions) {
    this.#host = host;
    this.#options = options;
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const parsed = parseIdentifier(identifier);
    if (parsed?.kind !== "shortLink") return this.#answer(parsed, signal);
    const target = await this.#followShortLink(parsed, signal);
    return target === undefined ? { kind: "empty" } : this.#answer(target, signal);
  }

  /** One request for each kind; SoundCloud suggests no texts here. Rejects only where no request succeeds. */
  async search({ query, types, signal }: SearchRequest): Promise<SearchResult | undefined> {
    const parsed = parseIdentifier(query);
    if (!this.#options.searchEnabled || parsed?.kind !== "search") return undefined;
    if (parsed.query === "") return undefined;
    const { loader } = this.#options;
    const lists = async (
      type: "album" | "artist" | "playlist",
      read: (json: Members) => SearchList | undefined,
    ): Promise<SearchList[]> => {
      const found = await loader.searchLists(LIST_KINDS[type], parsed, signal);
      return found.flatMap((json) => read(json) ?? []);
    };
    const [tracks, albums, artists, playlists] = await settledOf([
      types.includes("track") ? loader.search(parsed, signal) : undefined,
      types.includes("album") ? lists("album", foundSet) : undefined,
      types.includes("artist") ? lists("artist", foundUser) : undefined,
      types.includes("playlist") ? lists("playlist", foundSet) : undefined,
    ]);
    return { tracks: this.#listed(tracks ?? []), albums, artists, playlists };
  }

  resolve(request: ResolveRequest): Promise<Playable> {
    return this.#options.playback.resolve(request);
  }

  async #answer(parsed: SoundCloudRequest | undefined, signal: AbortSignal): Promise<SourceAnswer | undefined> {
    switch (parsed?.kind) {
      case "search":
        return this.#search(parsed, signal);
      case "page":
        return this.#page(parsed, signal);
      case "track": {
        const found = await this.#options.loader.track(parsed.id, parsed.secret, signal);
        return this.#track(found);
      }
      case "set":
        return this.#set(await this.#options.loader.set(parsed.id, parsed.secret, signal));
      case "user":
        return this.#list(await this.#options.loader.user(parsed.user, signal), parsed.list, signal);
      default:
        return undefined;
    }
  }

  async #search(parsed: RequestOfKind<"search">, signal: AbortSignal): Promise<SourceAnswer | undefined> {
    if (!this.#options.searchEnabled) return undefined;
    if (parsed.query === "" || parsed.limit === 0) return { kind: "empty" };
    const found = await this.#options.loader.search(parsed, signal);
    return { kind: "search", tracks: this.#listed(found) };
  }

  /** What a search is answered with. */
  #listed(found: readonly FoundTrack[]): SourceTrack[] {
    return this.#ordered(this.#playable(found)).map(({ track }) => track);
  }

  async #page({ url, isSet, secret }: RequestOfKind<"page">, signal: AbortSignal): Promise<SourceAnswer> {
    const { loader } = this.#options;
    const json = await this.#resolvePage(url, { isSet, signal });
    const kind = textOf(json.kind);
    if (kind === "track") return this.#track(loader.readTrack(json, secret));
    if (kind === "playlist" || kind === "system-playlist") {
      return this.#set(await loader.completeSet(json, secret, signal));
    }
    const user = kind === "user" ? readUser(json) : undefined;
    if (user !== undefined) return this.#list(user, "tracks", signal);
    throw new SourceError("changed", "SoundCloud's resolve answered neither a track nor a set nor a user");
  }

  /** A missing track is an error in Lavalink's words, a missing set an empty result. */
  async #resolvePage(
    url: string,
    options: { readonly isSet: boolean; readonly signal: AbortSignal },
  ): Promise<Members> {
    try {
      return await this.#options.loader.resolve(url, options.signal);
    } catch (error) {
      if (options.isSet || !(error instanceof SourceError) || error.kind !== "not-found") throw error;
      throw new SourceError("unavailable", NOT_AVAILABLE, { cause: error });
    }
  }

  #track(found: FoundTrack | undefined): SourceAnswer {
    if (found === undefined) throw new SourceError("unavailable", NOT_AVAILABLE);
    const { track, playing } = found;
    if (playing.isBlocked) throw new SourceError("unavailable", BLOCKED);
    if (playing.isPreview && this.#options.filterOutPreviewTracks) {
      throw new SourceError("unavailable", ONLY_A_PREVIEW);
    }
    return { kind: "track", track };
  }

  #set({ set, tracks, totalTracks }: FoundSet): SourceAnswer {
    return {
      kind: "playlist",
      name: textOf(set.title) ?? "Unnamed set",
      tracks: this.#playable(tracks).map(({ track }) => track),
      pluginInfo: {
        type: set.is_album === true ? "album" : "playlist",
        url: webAddressOf(set.permalink_url) ?? null,
        artworkUrl: coverOf(set) ?? null,
        author: textOf(objectOf(set.user)?.username) ?? null,
        totalTracks,
      },
    };
  }

  async #list(user: FoundUser, list: UserList, signal: AbortSignal): Promise<SourceAnswer> {
    const found = await this.#options.loader.listOf(user, list, signal);
    const { json } = user;
    return {
      kind: "playlist",
      name: `${LIST_NAMES[list]} ${user.name}`,
      tracks: this.#playable(found).map(({ track }) => track),
      pluginInfo: {
        type: list === "tracks" ? "artist" : "playlist",
        url: webAddressOf(json.permalink_url) ?? null,
        artworkUrl: artworkOf(json.avatar_url) ?? null,
        author: user.name,
      },
    };
  }

  /** The tracks of a list that can be played here. */
  #playable(found: readonly FoundTrack[]): FoundTrack[] {
    const { filterOutPreviewTracks } = this.#options;
    return found.filter(({ playing }) => !playing.isBlocked && !(filterOutPreviewTracks && playing.isPreview));
  }

  /** A search's tracks, with those that are protected by DRM where the operator wants them. */
  #ordered(found: readonly FoundTrack[]): readonly FoundTrack[] {
    const { encryptedTracks } = this.#options;
    if (encryptedTracks === "keep") return found;
    const open = found.filter(({ playing }) => !playing.isProtected);
    if (encryptedTracks === "last") return [...open, ...found.filter(({ playing }) => playing.isProtected)];
    if (open.length === 0 && found.length > 0) this.#logHidden();
    return open;
  }

  #logHidden(): void {
    const nowMs = this.#host.clock.now();
    if (nowMs - this.#hiddenLoggedMs < HIDDEN_LOG_MS) return;
    this.#hiddenLoggedMs = nowMs;
    const advice = "plugins.soundcloud.encryptedTracks: last lists them";
    this.#host.log.info(`a search found only tracks that are protected by DRM, and hides them; ${advice}`);
  }

  /** Follows a short link while it stays at SoundCloud; the page itself is not fetched. */
  async #followShortLink(
    first: RequestOfKind<"shortLink">,
    signal: AbortSignal,
  ): Promise<SoundCloudRequest | undefined> {
    let { url } = first;
    for (let count = 0; count < SHORT_LINKS_MAX; count++) {
      const location = await this.#locationOf(url, signal);
      const parsed = location === undefined ? undefined : parseLink(location);
      if (parsed?.kind !== "shortLink") return parsed;
      url = parsed.url;
    }
    throw new SourceError("changed", `a short link of SoundCloud goes through more than ${SHORT_LINKS_MAX} others`);
  }

  #locationOf(url: string, signal: AbortSignal): Promise<string | undefined> {
    const { http } = this.#host;
    return this.#host.backend("short links").run(async () => {
      const head = await http.request(url, { signal, method: "HEAD", redirect: "manual" });
      // Some do not know HEAD.
      const answer =
        head.headers.location === undefined && head.status !== 404
          ? await http.request(url, { signal, redirect: "manual" })
          : head;
      const { location } = answer.headers;
      if (location !== undefined) return addressOf(location, url)?.href;
      if (answer.status >= 400) throw http.statusError(answer);
      return undefined;
    });
  }
}

function coverOf(set: Members): string | undefined {
  return artworkOf(set.artwork_url) ?? artworkOf(set.calculated_artwork_url);
}

/** Undefined for what is no set, or has no page. */
function foundSet(set: Members): SearchList | undefined {
  const [name, url] = [textOf(set.title), webAddressOf(set.permalink_url)];
  if (name === undefined || url === undefined || set.kind === "track") return undefined;
  const author = textOf(objectOf(set.user)?.username);
  return { name, url, artworkUrl: coverOf(set), author, totalTracks: numberOf(set.track_count) };
}

/** Named as the list that the user's page loads. */
function foundUser(json: Members): SearchList | undefined {
  const url = webAddressOf(json.permalink_url);
  const user = readUser(json);
  if (user === undefined || url === undefined) return undefined;
  const { name } = user;
  const artworkUrl = artworkOf(json.avatar_url);
  return {
    name: `${LIST_NAMES.tracks} ${name}`,
    url,
    artworkUrl,
    author: name,
    totalTracks: numberOf(json.track_count),
  };
}
