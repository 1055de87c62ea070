// Lists the keys of the records that match, without their values, of a consumer as they come: a list of all in one answer
// would hold up the thread for up to a second. Below nats-bucket.ts. Main thread.

import type { Clock } from "../lib/clock.ts";
import { awayError, type LiveBucket } from "./live-nats.ts";
import { RecordFeed } from "./record-feed.ts";

interface RecordListOptions {
  readonly live: LiveBucket;
  readonly stream: string;
  /** Without ones that overlap. */
  readonly subjects: readonly string[];
  readonly clock: Clock;
  readonly onSubject: (subject: string) => void;
}

/**
 * Tells of the subject of each existing record; resolves when all have come.
 * @throws NodeError "cluster-away"
 */
export function listRecords({ onSubject, ...options }: RecordListOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const feed = new RecordFeed({
      ...options,
      isWithoutData: true,
      onMessage: ({ subject, data }) => {
        if (data !== undefined) onSubject(subject);
      },
      onCaughtUp: () => {
        feed.stop();
        resolve();
      },
      onEnd: (reason) => reject(awayError(reason)),
    });
  });
}
