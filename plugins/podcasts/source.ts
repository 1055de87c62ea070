// The source `podcast`: shows as playlists of their newest episodes, single episodes, and shows found by words. Plugin
// thread.

import {
  type JsonMembers,
  type LoadRequest,
  type OptionValues,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { trimmedText } from "../reading/json.ts";
import { AppleDirectory } from "./apple-directory.ts";
import type { Episode } from "./episode.ts";
import type { Feed } from "./feed-reader.ts";
import { webLink } from "./feed-text.ts";
import { Feeds, hostOf } from "./feeds.ts";
import { episodeIdentifier, readPodcastIdentifier } from "./identifier.ts";
import type { PODCASTS_MANIFEST } from "./manifest.ts";

/** Audio address of each episode at the last read of its feed. */
const ENCLOSURES = { ttlMs: 30 * 60_000, entriesMax: 3000 };
/** Number of shows matching the search words that are tried. */
const SHOWS_TRIED_MAX = 3;
/** Longest wait for a feed when the audio's last address is known. */
const RESOLVE_TIMEOUT_MS = 6000;

export type PodcastOptions = OptionValues<typeof PODCASTS_MANIFEST.config>;

export class PodcastSource {
  readonly #host: PluginHost<PodcastOptions>;
  readonly #feeds: Feeds;
  readonly #apple: AppleDirectory;

  constructor(host: PluginHost<PodcastOptions>) {
    const { countryCode } = host.options;
    if (!/^[a-z]{2}$/i.test(countryCode)) throw new Error("countryCode: expected two letters, such as US");
    this.#host = host;
    this.#feeds = new Feeds(host);
    this.#apple = new AppleDirectory(host, countryCode);
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const parsed = readPodcastIdentifier(identifier);
    switch (parsed?.kind) {
      case undefined:
        return undefined;
      case "nothing":
        return { kind: "empty" };
      case "feed":
        return this.#show(parsed.url, signal);
      case "episode":
        return this.#episode(parsed.url, parsed.guid, signal);
      case "words":
        return this.#search(parsed.words, signal);
      case "apple": {
        const { showId, episodeId } = parsed;
        return episodeId === undefined
          ? this.#show(await this.#apple.feedOf(showId, signal), signal)
          : this.#appleEpisode(showId, episodeId, signal);
      }
    }
  }

  async resolve({ track, reason, mustAskSite, signal }: ResolveRequest): Promise<Playable> {
    const parsed = readPodcastIdentifier(track.identifier);
    if (parsed?.kind !== "episode") throw new SourceError("invalid", "the track names no episode of a podcast");
    const known = reason === "start" ? this.#enclosures().get(track.identifier) : undefined;
    if (known !== undefined) return { kind: "link", url: known };
    const lastUrl = mustAskSite ? undefined : webLink(trimmedText(track.fields?.enclosureUrl));
    return { kind: "link", url: await this.#enclosure(parsed, lastUrl, signal) };
  }

  async #show(feedUrl: string, signal: AbortSignal): Promise<SourceAnswer> {
    const { feed, tracks } = await this.#tracks(feedUrl, signal);
    if (tracks.length === 0) return { kind: "empty" };
    const { title, author, imageUrl, pageUrl } = feed;
    return {
      kind: "playlist",
      name: title ?? hostOf(feedUrl),
      tracks,
      pluginInfo: withoutUndefined({
        type: "podcast",
        url: pageUrl ?? feedUrl,
        artworkUrl: imageUrl,
        author,
        totalTracks: tracks.length,
      }),
    };
  }

  async #episode(feedUrl: string, guid: string, signal: AbortSignal): Promise<SourceAnswer> {
    const feed = await this.#feeds.read(feedUrl, { episodesMax: 1, guid }, signal);
    const [episode] = feed.episodes;
    return episode === undefined ? { kind: "empty" } : { kind: "track", track: this.#track(feedUrl, feed, episode) };
  }

  async #appleEpisode(showId: string, episodeId: string, signal: AbortSignal): Promise<SourceAnswer> {
    const listed = await this.#apple.episode(showId, episodeId, signal);
    // Old ones are not listed, and the feed does not know Apple's numbers.
    if (listed === undefined) throw new SourceError("not-found", "Apple's directory does not list this episode");
    return this.#episode(listed.feedUrl, listed.guid, signal);
  }

  /** The newest episodes of the best matching show, so that the first result is the latest episode. */
  async #search(words: string, signal: AbortSignal): Promise<SourceAnswer | undefined> {
    if (!this.#host.options.searchEnabled) return undefined;
    const feedUrls = await this.#apple.search(words, signal);
    let trouble: unknown;
    for (const feedUrl of feedUrls.slice(0, SHOWS_TRIED_MAX)) {
      try {
        const { tracks } = await this.#tracks(feedUrl, signal);
        if (tracks.length > 0) return { kind: "search", tracks };
      } catch (error) {
        signal.throwIfAborted();
        // The directory lists shows whose feeds no longer exist.
        trouble ??= error;
      }
    }
    if (trouble !== undefined) throw trouble;
    return { kind: "empty" };
  }

  async #tracks(
    feedUrl: string,
    signal: AbortSignal,
  ): Promise<{ readonly feed: Feed; readonly tracks: SourceTrack[] }> {
    const feed = await this.#feeds.read(feedUrl, { episodesMax: this.#host.options.episodeLoadLimit }, signal);
    return { feed, tracks: feed.episodes.map((episode) => this.#track(feedUrl, feed, episode)) };
  }

  #track(feedUrl: string, feed: Feed, episode: Episode): SourceTrack {
    const identifier = episodeIdentifier(feedUrl, episode.guid);
    this.#enclosures().set(identifier, episode.enclosureUrl);
    const { enclosureUrl, enclosureType, pageUrl, publishedMs, number } = episode;
    return {
      identifier,
      title: episode.title,
      author: feed.title ?? feed.author,
      lengthMs: episode.lengthMs,
      // A file of unknown length.
      isStream: false,
      uri: pageUrl ?? enclosureUrl,
      artworkUrl: episode.imageUrl ?? feed.imageUrl,
      fields: { enclosureUrl },
      pluginInfo: withoutUndefined({
        enclosureType,
        itemUrl: pageUrl,
        feedUrl,
        episode: number,
        publishedAt: publishedMs === undefined ? undefined : new Date(publishedMs).toISOString(),
      }),
    };
  }

  /**
   * The enclosure in the current feed; if the feed is unavailable, or no longer has the episode, the last known one.
   */
  async #enclosure(
    { url, guid }: { readonly url: string; readonly guid: string },
    lastUrl: string | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const late = lastUrl === undefined ? new AbortController() : this.#abortLater(signal);
    try {
      const feedRequest = { episodesMax: 1, guid };
      const { episodes } = await this.#feeds.read(url, feedRequest, AbortSignal.any([signal, late.signal]));
      if (episodes[0] !== undefined) return episodes[0].enclosureUrl;
    } catch (error) {
      signal.throwIfAborted();
      if (lastUrl === undefined) throw error;
      this.#host.count("feed-gone");
    } finally {
      late.abort();
    }
    if (lastUrl !== undefined) return lastUrl;
    throw new SourceError("not-found", "This track is not available: the podcast's feed no longer has the episode");
  }

  #abortLater(signal: AbortSignal): AbortController {
    const late = new AbortController();
    this.#host.clock.sleep(RESOLVE_TIMEOUT_MS, AbortSignal.any([signal, late.signal])).then(
      () => late.abort(new SourceError("unreachable", "the podcast's feed takes too long")),
      // The feed was read in time.
      () => undefined,
    );
    return late;
  }

  #enclosures() {
    return this.#host.cache<string>("enclosures", ENCLOSURES);
  }
}

function withoutUndefined(members: Readonly<Record<string, string | number | undefined>>): JsonMembers {
  const retained: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) retained[name] = value;
  }
  return retained;
}
