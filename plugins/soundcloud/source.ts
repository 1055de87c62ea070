// The source `soundcloud`: from what an identifier asks for to what a client gets. Plugin thread.

import {
  type LoadRequest,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  type SourceAnswer,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { addressOf } from "../reading/address.ts";
import { type Members, objectOf } from "../reading/json.ts";
import { parseIdentifier, parseLink, type SoundCloudWish, type UserList } from "./identifier.ts";
import { type FoundSet, type FoundUser, readUser, type SoundCloudLookup } from "./lookup.ts";
import { BLOCKED, NOT_AVAILABLE, ONLY_A_PREVIEW, type SoundCloudPlayback } from "./playback.ts";
import { textOf, webAddressOf } from "./read-json.ts";
import { artworkOf, type FoundTrack } from "./read-track.ts";

const SHORT_LINKS_MAX = 3;
const LIST_NAMES: Readonly<Record<UserList, string>> = {
  tracks: "Tracks by",
  likes: "Liked by",
  reposts: "Reposted by",
};

type Wish<Kind extends SoundCloudWish["kind"]> = Extract<SoundCloudWish, { readonly kind: Kind }>;

export interface SoundCloudSourceOptions {
  readonly lookup: SoundCloudLookup;
  readonly playback: SoundCloudPlayback;
  readonly searchEnabled: boolean;
  readonly filterOutPreviewTracks: boolean;
}

export class SoundCloudSource {
  readonly #host: PluginHost;
  readonly #options: SoundCloudSourceOptions;

  constructor(host: PluginHost, options: SoundCloudSourceOptions) {
    this.#host = host;
    this.#options = options;
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const wish = parseIdentifier(identifier);
    if (wish?.kind !== "shortLink") return this.#answer(wish, signal);
    const target = await this.#followShortLink(wish, signal);
    return target === undefined ? { kind: "empty" } : this.#answer(target, signal);
  }

  resolve(request: ResolveRequest): Promise<Playable> {
    return this.#options.playback.resolve(request);
  }

  async #answer(wish: SoundCloudWish | undefined, signal: AbortSignal): Promise<SourceAnswer | undefined> {
    switch (wish?.kind) {
      case "search":
        return this.#search(wish, signal);
      case "page":
        return this.#page(wish, signal);
      case "track": {
        const found = await this.#options.lookup.track(wish.id, wish.secret, signal);
        return this.#track(found);
      }
      case "set":
        return this.#set(await this.#options.lookup.set(wish.id, wish.secret, signal));
      case "user":
        return this.#list(await this.#options.lookup.user(wish.user, signal), wish.list, signal);
      default:
        return undefined;
    }
  }

  async #search(wish: Wish<"search">, signal: AbortSignal): Promise<SourceAnswer | undefined> {
    if (!this.#options.searchEnabled) return undefined;
    if (wish.query === "" || wish.limit === 0) return { kind: "empty" };
    const found = await this.#options.lookup.search(wish, signal);
    return { kind: "search", tracks: this.#heard(found).map(({ track }) => track) };
  }

  async #page({ url, isSet, secret }: Wish<"page">, signal: AbortSignal): Promise<SourceAnswer> {
    const { lookup } = this.#options;
    const json = await this.#resolvePage(url, { isSet, signal });
    const kind = textOf(json.kind);
    if (kind === "track") return this.#track(lookup.readTrack(json, secret));
    if (kind === "playlist" || kind === "system-playlist") {
      return this.#set(await lookup.completeSet(json, secret, signal));
    }
    const user = kind === "user" ? readUser(json) : undefined;
    if (user !== undefined) return this.#list(user, "tracks", signal);
    throw new SourceError("changed", "SoundCloud's resolve answered neither a track nor a set nor a user");
  }

  /** A track that is not there is told in Lavalink's words, a set is an empty result. */
  async #resolvePage(
    url: string,
    options: { readonly isSet: boolean; readonly signal: AbortSignal },
  ): Promise<Members> {
    try {
      return await this.#options.lookup.resolve(url, options.signal);
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
      tracks: this.#heard(tracks).map(({ track }) => track),
      pluginInfo: {
        type: set.is_album === true ? "album" : "playlist",
        url: webAddressOf(set.permalink_url) ?? null,
        artworkUrl: artworkOf(set.artwork_url) ?? artworkOf(set.calculated_artwork_url) ?? null,
        author: textOf(objectOf(set.user)?.username) ?? null,
        totalTracks,
      },
    };
  }

  async #list(user: FoundUser, list: UserList, signal: AbortSignal): Promise<SourceAnswer> {
    const found = await this.#options.lookup.listOf(user, list, signal);
    const { json } = user;
    return {
      kind: "playlist",
      name: `${LIST_NAMES[list]} ${user.name}`,
      tracks: this.#heard(found).map(({ track }) => track),
      pluginInfo: {
        type: list === "tracks" ? "artist" : "playlist",
        url: webAddressOf(json.permalink_url) ?? null,
        artworkUrl: artworkOf(json.avatar_url) ?? null,
        author: user.name,
      },
    };
  }

  /** What of a list can be played here. */
  #heard(found: readonly FoundTrack[]): FoundTrack[] {
    const { filterOutPreviewTracks } = this.#options;
    return found.filter(({ playing }) => !playing.isBlocked && !(filterOutPreviewTracks && playing.isPreview));
  }

  /** Where it leads, as long as that is SoundCloud's; the page itself is not fetched. */
  async #followShortLink(first: Wish<"shortLink">, signal: AbortSignal): Promise<SoundCloudWish | undefined> {
    let { url } = first;
    for (let count = 0; count < SHORT_LINKS_MAX; count++) {
      const location = await this.#locationOf(url, signal);
      const wish = location === undefined ? undefined : parseLink(location);
      if (wish?.kind !== "shortLink") return wish;
      url = wish.url;
    }
    throw new SourceError("changed", `a short link of SoundCloud leads through more than ${SHORT_LINKS_MAX} others`);
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
