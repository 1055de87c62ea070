// How full the bucket is, asked for from time to time. JetStream refuses everything once a stream is full, also marks of
// removal and leases, so writes of what clients have stored end before that. Below nats-bucket.ts. Main thread.

import type { Clock, Timer } from "../lib/clock.ts";
import type { Logger } from "../log/log.ts";
import { askApi, asNumber, asRecord } from "./jetstream-api.ts";
import type { LiveBucket } from "./live-nats.ts";
import type { ConnectionLoop } from "./nats-connection.ts";

const ASK_MS = 10_000;
const ASK_TIMEOUT_MS = 3000;
/** Of the most that the stream may hold. */
const NEARLY_FULL_SHARE = 7 / 8;

export interface BucketFillOptions {
  readonly connection: ConnectionLoop;
  readonly stream: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class BucketFill {
  readonly #options: BucketFillOptions;
  #isNearlyFull = false;
  #live: LiveBucket | undefined;
  #timer: Timer | undefined;

  constructor(options: BucketFillOptions) {
    this.#options = options;
    options.connection.onLive((live) => {
      this.#live = live;
      this.#timer?.cancel();
      if (live !== undefined) void this.#ask(live);
    });
  }

  /** As it was at most some ten seconds ago. */
  get isNearlyFull(): boolean {
    return this.#isNearlyFull;
  }

  async #ask(live: LiveBucket): Promise<void> {
    const { stream, clock, logger } = this.#options;
    try {
      const info = await askApi(live, `STREAM.INFO.${stream}`, undefined, ASK_TIMEOUT_MS);
      const sizeBytes = asNumber(asRecord(info.state).bytes);
      const sizeMaxBytes = asNumber(asRecord(info.config).max_bytes);
      const isNearlyFull = sizeMaxBytes > 0 && sizeBytes > sizeMaxBytes * NEARLY_FULL_SHARE;
      if (isNearlyFull && !this.#isNearlyFull) {
        logger.warn("bucket of the cluster is nearly full: what clients change is no longer stored", {
          sizeBytes,
          sizeMaxBytes,
        });
      }
      this.#isNearlyFull = isNearlyFull;
    } catch {
      // It was asked a while ago, and will be again.
    }
    if (this.#live === live) this.#timer = clock.after(ASK_MS, () => void this.#ask(live));
  }
}
