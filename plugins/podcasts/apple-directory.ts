// Apple's podcast directory: finds the feed of a show, and shows by words in their names. It allows only some twenty
// requests a minute, so its answers are cached. Plugin thread.

import { type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { type Members, membersOf, objectsOf } from "../reading/json.ts";
import { webLink } from "./feed-text.ts";

const ADDRESS = "https://itunes.apple.com";
const ANSWERS = { ttlMs: 30 * 60_000, entriesMax: 300 };
const SHOWS_MAX = 5;
/** The most that the directory returns. */
const EPISODES_MAX = 200;
const ENTRIES_MAX = 1000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const TIMEOUT_MS = 8000;

/** An episode in its words: enough to find it in the feed. */
interface ListedEpisode {
  readonly feedUrl: string;
  readonly guid: string;
}

export class AppleDirectory {
  readonly #host: Pick<PluginHost, "http" | "backend" | "cache">;
  readonly #countryCode: string;

  constructor(host: Pick<PluginHost, "http" | "backend" | "cache">, countryCode: string) {
    this.#host = host;
    this.#countryCode = countryCode.toUpperCase();
  }

  /** Feeds of the shows that fit best, the best one first. */
  async search(words: string, signal: AbortSignal): Promise<readonly string[]> {
    const query = { media: "podcast", entity: "podcast", term: words, country: this.#countryCode, limit: SHOWS_MAX };
    const entries = await this.#ask("/search", query, signal);
    const feeds = entries.flatMap(({ feedUrl }) => linkOf(feedUrl) ?? []);
    return [...new Set(feeds)].slice(0, SHOWS_MAX);
  }

  /** Rejects with a SourceError (`not-found`, `unavailable`). */
  async feedOf(showId: string, signal: AbortSignal): Promise<string> {
    const entries = await this.#ask("/lookup", { id: showId, entity: "podcast" }, signal);
    if (entries.length === 0) throw new SourceError("not-found", "Apple's directory does not know this podcast");
    const feedUrl = entries.map((entry) => linkOf(entry.feedUrl)).find((link) => link !== undefined);
    // Shows for subscribers have none.
    if (feedUrl === undefined)
      throw new SourceError("unavailable", "this podcast can only be played with Apple's own app");
    return feedUrl;
  }

  /** Undefined: it is not among the show's newest, or the directory does not say what the feed calls it. */
  async episode(showId: string, episodeId: string, signal: AbortSignal): Promise<ListedEpisode | undefined> {
    const query = { id: showId, entity: "podcastEpisode", limit: EPISODES_MAX };
    const entries = await this.#ask("/lookup", query, signal);
    const show = entries.find(({ collectionId, kind }) => kind === "podcast" && String(collectionId) === showId);
    const entry = entries.find(({ trackId }) => String(trackId) === episodeId);
    const feedUrl = linkOf(entry?.feedUrl) ?? linkOf(show?.feedUrl);
    const guid = entry?.episodeGuid;
    return feedUrl === undefined || typeof guid !== "string" || guid === "" ? undefined : { feedUrl, guid };
  }

  #ask(
    path: string,
    query: Readonly<Record<string, string | number>>,
    signal: AbortSignal,
  ): Promise<readonly Members[]> {
    const cache = this.#host.cache<readonly Members[]>("apple", ANSWERS);
    const bounds = { timeoutMs: TIMEOUT_MS, sizeBytesMax: ANSWER_BYTES_MAX };
    return cache.getOrMake(JSON.stringify([path, query]), {
      signal,
      make: (shared) =>
        this.#host.backend("itunes").run(async () => {
          return readEntries(await this.#host.http.json(`${ADDRESS}${path}`, { signal: shared, query, ...bounds }));
        }),
    });
  }
}

/** Keeps only the members that are used. */
function readEntries(answer: unknown): readonly Members[] {
  const { results } = membersOf(answer);
  if (!Array.isArray(results)) throw new SourceError("changed", "Apple's directory answered without a list of results");
  return objectsOf(results, ENTRIES_MAX).map(({ kind, collectionId, trackId, feedUrl, episodeGuid }) => {
    return { kind, collectionId, trackId, feedUrl, episodeGuid };
  });
}

function linkOf(value: unknown): string | undefined {
  return typeof value === "string" ? webLink(value) : undefined;
}
