// A watch of the bucket: continues through losses of the connection, of servers and of messages. Each time it restarts,
// it reports as removed what it knew and what is no longer there. The server it then reads from may be behind the one
// before, so nothing is believed that is older than what was seen. Below nats-bucket.ts. Main thread.

import type { Clock, Timer } from "../lib/clock.ts";
import type { Logger } from "../log/log.ts";
import type { LiveBucket } from "./live-nats.ts";
import { type FedMessage, RecordFeed } from "./record-feed.ts";
import { lastMessage } from "./stored-message.ts";

/** The wait before it restarts, doubled each time it fails before it had caught up. */
const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 2000;
/** Questions about records that were not seen again, at a time. */
const CHECKS_AT_ONCE = 64;
const CHECK_TIMEOUT_MS = 3000;

export interface RecordWatchOptions {
  readonly stream: string;
  /** Without ones that overlap. */
  readonly subjects: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onMessage: (message: FedMessage) => void;
  readonly onCaughtUp: () => void;
}

export class RecordWatch {
  readonly #options: RecordWatchOptions;
  /** The newest revision of each record that exists, by its subject. */
  readonly #known = new Map<string, number>();
  /** Every message up to it has been seen. */
  #newestRevision = 0;
  #madeAt: string | undefined;
  #seen = new Set<string>();
  #feed: RecordFeed | undefined;
  #retry: Timer | undefined;
  #retryMs = RETRY_MS_MIN;

  constructor(options: RecordWatchOptions) {
    this.#options = options;
  }

  /** The connection to read from now; undefined: none. */
  setLive(live: LiveBucket | undefined): void {
    this.stop();
    this.#retryMs = RETRY_MS_MIN;
    if (live === undefined) return;
    if (this.#madeAt !== undefined && this.#madeAt !== live.madeAt) this.#forgetAll();
    this.#madeAt = live.madeAt;
    this.#begin(live);
  }

  stop(): void {
    this.#retry?.cancel();
    this.#feed?.stop();
    this.#feed = undefined;
  }

  #begin(live: LiveBucket): void {
    const { stream, subjects, clock } = this.#options;
    this.#seen = new Set();
    const feed = new RecordFeed({
      live,
      stream,
      subjects,
      clock,
      onMessage: (message) => this.#onMessage(message),
      onCaughtUp: () => void this.#onCaughtUp(live, feed),
      onEnd: (reason) => this.#onEnd(live, reason),
    });
    this.#feed = feed;
  }

  #onMessage(message: FedMessage): void {
    const { subject, revision, data } = message;
    this.#seen.add(subject);
    // From a server that is behind, or given again.
    if (revision <= this.#newestRevision && this.#known.get(subject) !== revision) return;
    this.#newestRevision = Math.max(this.#newestRevision, revision);
    if (data === undefined) this.#known.delete(subject);
    else this.#known.set(subject, revision);
    this.#options.onMessage(message);
  }

  async #onCaughtUp(live: LiveBucket, feed: RecordFeed): Promise<void> {
    const missing = [...this.#known.keys()].filter((subject) => !this.#seen.has(subject));
    try {
      while (missing.length > 0) {
        await Promise.all(missing.splice(0, CHECKS_AT_ONCE).map((subject) => this.#checkMissing(live, feed, subject)));
      }
    } catch (error) {
      if (this.#feed !== feed) return;
      feed.stop();
      this.#onEnd(live, error);
      return;
    }
    if (this.#feed !== feed) return;
    this.#seen = new Set();
    this.#retryMs = RETRY_MS_MIN;
    this.#options.onCaughtUp();
  }

  async #checkMissing(live: LiveBucket, feed: RecordFeed, subject: string): Promise<void> {
    const revision = this.#known.get(subject);
    const last = await lastMessage(live, this.#options.stream, subject, CHECK_TIMEOUT_MS);
    if (this.#feed !== feed || last?.data !== undefined || this.#known.get(subject) !== revision) return;
    this.#forget(subject, last?.revision ?? this.#newestRevision);
  }

  #forgetAll(): void {
    for (const subject of [...this.#known.keys()]) this.#forget(subject, this.#newestRevision);
    this.#newestRevision = 0;
  }

  #forget(subject: string, revision: number): void {
    this.#known.delete(subject);
    this.#options.onMessage({ subject, revision, data: undefined });
  }

  #onEnd(live: LiveBucket, reason: unknown): void {
    this.#feed = undefined;
    if (live.signal.aborted) return;
    this.#options.logger.debug("watch of the cluster records restarts", { error: reason });
    this.#retry = this.#options.clock.after(this.#retryMs, () => this.#begin(live));
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
  }
}
