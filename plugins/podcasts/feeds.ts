// Fetches feeds and reads as much of them as is needed. A feed may have tens of megabytes and its host is untrusted:
// few are fetched at once, only one of the large ones, and they are parsed in pieces, so that other tasks can run and
// the thread's memory is enough. Plugin thread.

import { type HttpAnswer, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { type Feed, FeedReader, type FeedReaderOptions } from "./feed-reader.ts";
import { feedDecoder, webLink } from "./feed-text.ts";
import { Lane } from "./lane.ts";

/** Most feeds are smaller. The host makes a text of each body, of one or two bytes a character: ten are 40 MiB. */
const SMALL = { sizeBytesMax: 2 * 1024 * 1024, runningMax: 10, waitingMax: 100 };
/** Long shows have feeds of 5 to 30 MB: one at a time, as the thread has 128 MiB. */
const LARGE = { sizeBytesMax: 32 * 1024 * 1024, runningMax: 1, waitingMax: 20 };
const LARGE_KNOWN = { ttlMs: 24 * 60 * 60_000, entriesMax: 500 };
/** Feeds move, and pass through trackers that count downloads. */
const REDIRECTS_MAX = 10;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);
/** For all redirects together. */
const TIMEOUT_MS = 12_000;
/** The reader is asked between pieces whether it has enough. */
const PIECE_BYTES = 16 * 1024;
/** So many bytes are read in one go, for some 20 ms. */
const CHUNK_BYTES = 512 * 1024;
/** 30 MB take some two seconds. Parsing that takes longer is hostile: it stops, with the episodes found so far. */
const READING_MS_MAX = 5000;
const ACCEPT = "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5";

interface Bounds {
  readonly signal: AbortSignal;
  readonly sizeBytesMax: number;
  readonly timeoutMs: number;
}

type FeedRequest = Omit<FeedReaderOptions, "url">;
type FeedsHost = Pick<PluginHost, "http" | "clock" | "cache">;

export class Feeds {
  readonly #host: FeedsHost;
  readonly #small = new Lane(SMALL);
  readonly #large = new Lane(LARGE);

  constructor(host: FeedsHost) {
    this.#host = host;
  }

  /** Rejects with a SourceError where there is no feed. */
  async read(url: string, feedRequest: FeedRequest, signal: AbortSignal): Promise<Feed> {
    const largeOnes = this.#host.cache<true>("large-feeds", LARGE_KNOWN);
    if (!largeOnes.get(url)) {
      const feed = await this.#small.run(signal, () =>
        this.#read(url, feedRequest, { signal, sizeBytesMax: SMALL.sizeBytesMax }),
      );
      if (feed !== undefined) return feed;
      largeOnes.set(url, true);
    }
    const feed = await this.#large.run(signal, () =>
      this.#read(url, feedRequest, { signal, sizeBytesMax: LARGE.sizeBytesMax }),
    );
    if (feed !== undefined) return feed;
    throw new SourceError("changed", `the feed at ${hostOf(url)} is larger than ${LARGE.sizeBytesMax} bytes`);
  }

  /** Undefined: it is too large. */
  async #read(
    url: string,
    feedRequest: FeedRequest,
    options: { readonly signal: AbortSignal; readonly sizeBytesMax: number },
  ): Promise<Feed | undefined> {
    const answer = await this.#fetch(url, options);
    if (answer === undefined) return undefined;
    const { bytes, headers } = answer;
    const decoder = feedDecoder(bytes, headers["content-type"] ?? "");
    const reader = new FeedReader({ ...feedRequest, url: answer.url });
    const { clock } = this.#host;
    const untilMs = clock.now() + READING_MS_MAX;
    for (let start = 0; start < bytes.length && !reader.isDone && clock.now() < untilMs; start += PIECE_BYTES) {
      if (start > 0 && start % CHUNK_BYTES === 0) await clock.sleep(0, options.signal);
      reader.write(decoder.decode(bytes.subarray(start, start + PIECE_BYTES), { stream: true }));
    }
    const feed = reader.finish();
    if (feed === undefined)
      throw new SourceError("invalid", `${hostOf(url)} answered something else than a podcast's feed`);
    return feed;
  }

  /** Keeps only the needed parts of the answer: its text is as large as the feed. */
  async #fetch(
    url: string,
    options: { readonly signal: AbortSignal; readonly sizeBytesMax: number },
  ): Promise<Pick<HttpAnswer, "url" | "bytes" | "headers"> | undefined> {
    const { http, clock } = this.#host;
    const untilMs = clock.now() + TIMEOUT_MS;
    let next = url;
    for (let count = 0; count <= REDIRECTS_MAX; count++) {
      const timeoutMs = untilMs - clock.now();
      if (timeoutMs <= 0) throw new SourceError("unreachable", `the feed at ${hostOf(url)} takes too long`);
      const answer = await this.#ask(next, { ...options, timeoutMs });
      if (answer === undefined) return undefined;
      const { location } = answer.headers;
      if (!REDIRECT_STATUSES.has(answer.status) || location === undefined) {
        if (answer.status < 200 || answer.status > 299) throw http.statusError(answer);
        return { url: next, bytes: answer.bytes, headers: answer.headers };
      }
      const to = webLink(location, next);
      if (to === undefined) throw new SourceError("changed", `${hostOf(next)} redirects to an invalid address`);
      next = to;
    }
    throw new SourceError("changed", `the feed at ${hostOf(url)} is behind more than ${REDIRECTS_MAX} redirects`);
  }

  async #ask(url: string, bounds: Bounds): Promise<HttpAnswer | undefined> {
    try {
      return await this.#host.http.request(url, { ...bounds, headers: { accept: ACCEPT }, redirect: "manual" });
    } catch (error) {
      bounds.signal.throwIfAborted();
      // While redirects are not followed, `changed` can only mean that the body is too large.
      if (error instanceof SourceError && error.kind === "changed") return undefined;
      throw error;
    }
  }
}

/** The only part of a feed's address that messages contain: the rest may be a secret. */
export function hostOf(url: string): string {
  return new URL(url).host;
}
