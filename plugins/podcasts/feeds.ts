// Fetches feeds and reads as much of them as is needed. A feed may have tens of megabytes and its host is untrusted:
// few are fetched at once, only one of the large ones, and they are parsed in pieces, so that other tasks can run and
// the thread's memory is enough. Plugin thread.

import {
  type HttpAnswer,
  type PluginHost,
  type Pool,
  SourceError,
  type SourceErrorKind,
} from "../../src/plugin-api/plugin.ts";
import { type Feed, FeedReader, type FeedReaderOptions } from "./feed-reader.ts";
import { feedDecoder } from "./feed-text.ts";

/** Most feeds are smaller. The host makes a text of each body, of one or two bytes a character: ten are 40 MiB. */
const SMALL = { sizeBytesMax: 2 * 1024 * 1024, concurrencyMax: 10, waitingMax: 100 };
/** Long shows have feeds of 5 to 30 MB: one at a time, as the thread has 128 MiB. */
const LARGE = { sizeBytesMax: 32 * 1024 * 1024, concurrencyMax: 1, waitingMax: 20 };
const LARGE_KNOWN = { ttlMs: 24 * 60 * 60_000, entriesMax: 500 };
/** Feeds move, and pass through trackers that count downloads. */
const REDIRECTS_MAX = 10;
/** For all redirects together. */
const TIMEOUT_MS = 12_000;
/** Why a request for a feed had no answer. */
const REASONS: Partial<Record<SourceErrorKind, string>> = {
  unreachable: "cannot be reached",
  busy: "waits for too many other requests",
  changed: `goes through more than ${REDIRECTS_MAX} redirects, or to an invalid address`,
};
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
}

type FeedRequest = Omit<FeedReaderOptions, "url">;
type FeedsHost = Pick<PluginHost, "http" | "clock" | "cache" | "pool">;

export class Feeds {
  readonly #host: FeedsHost;
  readonly #small: Pool;
  readonly #large: Pool;

  constructor(host: FeedsHost) {
    this.#host = host;
    this.#small = host.pool("podcast feeds", SMALL);
    this.#large = host.pool("large podcast feeds", LARGE);
  }

  /** Rejects with a SourceError where there is no feed. */
  async read(url: string, feedRequest: FeedRequest, signal: AbortSignal): Promise<Feed> {
    const largeOnes = this.#host.cache<true>("large-feeds", LARGE_KNOWN);
    if (!largeOnes.get(url)) {
      const { sizeBytesMax } = SMALL;
      const feed = await this.#small.run(
        (permitted = signal) => this.#read(url, feedRequest, { signal: permitted, sizeBytesMax }),
        { signal },
      );
      if (feed !== undefined) return feed;
      largeOnes.set(url, true);
    }
    const { sizeBytesMax } = LARGE;
    const feed = await this.#large.run(
      (permitted = signal) => this.#read(url, feedRequest, { signal: permitted, sizeBytesMax }),
      { signal },
    );
    if (feed !== undefined) return feed;
    throw new SourceError("changed", `the feed at ${hostOf(url)} is larger than ${LARGE.sizeBytesMax} bytes`);
  }

  /** Undefined: it is too large. */
  async #read(url: string, feedRequest: FeedRequest, bounds: Bounds): Promise<Feed | undefined> {
    const answer = await this.#fetch(url, bounds);
    if (answer === undefined) return undefined;
    const { bytes, headers } = answer;
    const decoder = feedDecoder(bytes, headers["content-type"] ?? "");
    const reader = new FeedReader({ ...feedRequest, url: answer.url });
    const { clock } = this.#host;
    const untilMs = clock.now() + READING_MS_MAX;
    for (let start = 0; start < bytes.length && !reader.isDone && clock.now() < untilMs; start += PIECE_BYTES) {
      if (start > 0 && start % CHUNK_BYTES === 0) await clock.sleep(0, bounds.signal);
      reader.write(decoder.decode(bytes.subarray(start, start + PIECE_BYTES), { stream: true }));
    }
    const feed = reader.finish();
    if (feed === undefined)
      throw new SourceError("invalid", `${hostOf(url)} answered something else than a podcast's feed`);
    return feed;
  }

  /** Keeps only the needed parts of the answer: its text is as large as the feed. Undefined: it is too large. */
  async #fetch(url: string, bounds: Bounds): Promise<Pick<HttpAnswer, "url" | "bytes" | "headers"> | undefined> {
    const { http } = this.#host;
    const request = { ...bounds, headers: { accept: ACCEPT }, redirectsMax: REDIRECTS_MAX, timeoutMs: TIMEOUT_MS };
    let answer: HttpAnswer;
    try {
      answer = await http.request(url, request);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      if (error.isTooLarge) return undefined;
      throw withHostOnly(error, url, REASONS[error.kind] ?? "cannot be read");
    }
    const { status, bytes, headers } = answer;
    if (status >= 200 && status <= 299) return { url: answer.url, bytes, headers };
    throw withHostOnly(http.statusError(answer), url, `answered with status ${status}`);
  }
}

/** Messages of the host name whole addresses, perhaps one that only a redirect knows. */
function withHostOnly({ kind, retryAfterMs }: SourceError, url: string, reason: string): SourceError {
  return new SourceError(kind, `the feed at ${hostOf(url)} ${reason}`, { retryAfterMs });
}

/** The only part of a feed's address that messages contain: the rest may be a secret. */
export function hostOf(url: string): string {
  return new URL(url).host;
}
