// The source itself: resolves identifiers to tracks of Bandcamp, and a track to its current stream, for which its page
// is always read again. Plugin thread.

import {
  type LoadRequest,
  type OptionValues,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { type ArtistPage, readArtistPage } from "./artist-page.ts";
import { BandcampPages, type Page } from "./bandcamp-pages.ts";
import { asBandcamp, YtdlpBridge } from "./bridge.ts";
import { type BandcampLink, isBandcampHost, isMediaHost, parseBandcampLink, parseTrackAddress } from "./links.ts";
import type { BANDCAMP_MANIFEST } from "./manifest.ts";
import { hasRelease, type Release, readReleasePage } from "./release-page.ts";
import { BandcampSearchApi } from "./search-api.ts";
import { readSearchPage } from "./search-page.ts";

const SEARCH_PREFIX = "bcsearch:";
const SEARCH_PAGE = "https://bandcamp.com/search";
/** Pages of an artist's releases at once. */
const PAGES_AT_ONCE = 4;

type Host = PluginHost<OptionValues<typeof BANDCAMP_MANIFEST.config>>;

export class BandcampSource {
  readonly #host: Host;
  readonly #pages: BandcampPages;
  readonly #searchApi: BandcampSearchApi;
  readonly #bridge: YtdlpBridge;

  constructor(host: Host) {
    this.#host = host;
    this.#searchApi = new BandcampSearchApi(host);
    this.#pages = new BandcampPages(host);
    this.#bridge = new YtdlpBridge(host);
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    if (identifier.startsWith(SEARCH_PREFIX)) {
      return this.#host.options.searchEnabled
        ? this.#search(identifier.slice(SEARCH_PREFIX.length), signal)
        : undefined;
    }
    const link = parseBandcampLink(identifier.trim());
    if (link === undefined) return undefined;
    try {
      return await (link.kind === "artist" ? this.#loadArtist(link, signal) : this.#loadRelease(link, signal));
    } catch (trouble) {
      if (!this.#pages.isOwnTrouble(trouble)) throw trouble;
      const answer = await this.#bridge.find(link.url, { trouble, signal });
      return asBandcamp(answer) ?? { kind: "reference", identifier: this.#bridge.identifierOf(link.url) };
    }
  }

  async resolve({ track, mustAskSite, signal }: ResolveRequest): Promise<Playable> {
    const url = parseTrackAddress(track.identifier);
    if (url === undefined) {
      throw new SourceError("invalid", "a track of Bandcamp must have the address of its page as its identifier");
    }
    try {
      return await this.#pages.read(url, {
        signal,
        kind: "releases",
        read: (page) => {
          const playable = playableOf(readReleasePage(page.text, url));
          if (mustAskSite) checkStream(playable, page);
          return playable;
        },
      });
    } catch (trouble) {
      if (!this.#pages.isOwnTrouble(trouble)) throw trouble;
      await this.#bridge.find(url, { trouble, signal });
      return { kind: "reference", identifier: this.#bridge.identifierOf(url) };
    }
  }

  async #search(query: string, signal: AbortSignal): Promise<SourceAnswer> {
    if (query.trim() === "") return { kind: "empty" };
    const tracks = await this.#find(query.trim(), signal);
    // An empty result and a changed page layout look the same from here; many empty results in a row indicate a change.
    if (tracks.length === 0) this.#host.count("searches without results");
    return { kind: "search", tracks };
  }

  /** By the API, and by the page for people where that fails. */
  async #find(query: string, signal: AbortSignal): Promise<SourceTrack[]> {
    try {
      return await this.#searchApi.find(query, signal);
    } catch (trouble) {
      signal.throwIfAborted();
      if (!(trouble instanceof SourceError)) throw trouble;
      return await this.#findOnPage(query, { trouble, signal });
    }
  }

  /** Rejects with `trouble`, the reason for reading the page, and what was wrong with the page. */
  async #findOnPage(
    query: string,
    { trouble, signal }: { readonly trouble: SourceError; readonly signal: AbortSignal },
  ): Promise<SourceTrack[]> {
    try {
      return await this.#pages.read(SEARCH_PAGE, {
        signal,
        kind: "search",
        query: { q: query, item_type: "t" },
        read: ({ text }) => readSearchPage(text),
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SourceError)) throw error;
      const message = `neither Bandcamp's search API nor its search page works: ${trouble.message}; ${error.message}`;
      throw new SourceError(trouble.kind, `${message}; try again later, or play links`, { cause: trouble });
    }
  }

  async #loadRelease({ kind, url }: BandcampLink, signal: AbortSignal): Promise<SourceAnswer> {
    const release = await this.#readRelease(url, signal);
    return kind === "track" ? trackAnswer(release) : albumAnswer(release, url);
  }

  async #loadArtist({ url }: BandcampLink, signal: AbortSignal): Promise<SourceAnswer> {
    const page = await this.#readArtist(url, signal);
    // An artist with a single release has its page instead of a list.
    if ("tracks" in page) return albumAnswer(page, url);
    const releases = await this.#readReleases(page, signal);
    const tracks = releases.flatMap((release) => release.tracks.map(({ track }) => track));
    const author = page.name ?? releases[0]?.artist;
    const pluginInfo = { type: "artist", url, totalTracks: tracks.length, ...(author !== undefined && { author }) };
    return { kind: "playlist", name: `Discography of ${author ?? new URL(url).hostname}`, tracks, pluginInfo };
  }

  #readRelease(url: string, signal: AbortSignal): Promise<Release> {
    return this.#pages.read(url, { signal, kind: "releases", read: ({ text }) => readReleasePage(text, url) });
  }

  #readArtist(url: string, signal: AbortSignal): Promise<ArtistPage | Release> {
    return this.#pages.read(url, { signal, kind: "artists", read: (page) => readArtist(page, url) });
  }

  /** The releases that can be read, in order; rejects when there are none. */
  async #readReleases({ releases }: ArtistPage, signal: AbortSignal): Promise<Release[]> {
    const urls = releases.slice(0, this.#host.options.releaseLoadLimit);
    const found: Release[] = [];
    const troubles: unknown[] = [];
    for (let at = 0; at < urls.length; at += PAGES_AT_ONCE) {
      const group = urls.slice(at, at + PAGES_AT_ONCE);
      const work = group.map((url) => this.#readRelease(url, signal));
      for (const result of await Promise.allSettled(work)) {
        if (result.status === "fulfilled") found.push(result.value);
        else troubles.push(result.reason);
      }
      signal.throwIfAborted();
    }
    if (found.length === 0) throw troubles[0] ?? new SourceError("not-found", "this artist has released nothing yet");
    return found;
  }
}

function readArtist({ text, url: finalUrl }: Page, url: string): ArtistPage | Release {
  if (hasRelease(text)) return readReleasePage(text, url);
  const page = readArtistPage(text, url);
  if (page.releases.length > 0) return page;
  throw new SourceError("changed", `the page ${finalUrl} contains neither a grid of releases nor a release`);
}

function trackAnswer({ tracks: [first] }: Release): SourceAnswer {
  if (first === undefined) throw notPlayable("this track");
  return { kind: "track", track: first.track };
}

function albumAnswer(
  { title, albumTitle, artist, artworkUrl, tracks, trackCount }: Release,
  url: string,
): SourceAnswer {
  if (tracks.length === 0) throw notPlayable("this album");
  const pluginInfo = { type: "album", url, artworkUrl, author: artist ?? null, totalTracks: trackCount };
  const name = title ?? albumTitle ?? "Unknown album";
  return { kind: "playlist", name, tracks: tracks.map(({ track }) => track), pluginInfo };
}

type Link = Extract<Playable, { readonly kind: "link" }>;

/** The page of a domain that is not Bandcamp's may be anybody's, and name any address. */
function checkStream(stream: Link, page: Page): void {
  const { hostname } = new URL(page.url);
  if (isBandcampHost(hostname) || isMediaHost(new URL(stream.url).hostname)) return;
  const why = "its page is not at bandcamp.com, names audio that is not Bandcamp's";
  throw new SourceError(
    "unavailable",
    `this track is not available: ${why}, and your key may not play other addresses`,
  );
}

function playableOf({ tracks: [first] }: Release): Link {
  if (first === undefined) throw notPlayable("this track");
  const { streamUrl, trackId } = first;
  return { kind: "link", url: streamUrl, variant: trackId === undefined ? undefined : `mp3-128/${trackId}` };
}

function notPlayable(what: string): SourceError {
  return new SourceError("unavailable", `Bandcamp does not stream ${what}: it is only sold, or not released yet`);
}
