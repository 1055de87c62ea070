// Reads all records that match, from any server that holds the bucket and is not behind. Small answers come directly;
// servers refuse more than 1,024 records at once, which a consumer then reads. Below nats-bucket.ts. Main thread.

import type { Clock, Timer } from "../lib/clock.ts";
import { onAbort } from "../lib/on-abort.ts";
import { pause } from "../lib/pause.ts";
import type { Expectation } from "./atomic-batch.ts";
import { awayError, type LiveBucket } from "./live-nats.ts";
import { type FedMessage, RecordFeed } from "./record-feed.ts";
import { contains, withoutContained } from "./record-subjects.ts";
import { lastMessage } from "./stored-message.ts";

/** Before a server that is behind is asked again. */
const BEHIND_PAUSE_MS = 20;
/** A direct answer stops coming when its server or its connection is lost. */
const DIRECT_SILENCE_MS = 2000;
/** More at once could be more than a server keeps for a connection; a consumer adapts to it. */
const DIRECT_SIZE_MAX_BYTES = 8 * 1024 * 1024;
/** Before another consumer is tried. */
const RETRY_MS = 50;

export interface RecordReadOptions {
  readonly live: LiveBucket;
  readonly stream: string;
  /** Without ones that overlap. */
  readonly subjects: readonly string[];
  /** What must have been reached. */
  readonly atLeast: Expectation;
  /** A subject that has a message for certain: a server that finds nothing does not say how far it is. */
  readonly existing: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/**
 * The newest message of each subject, without marks of removal.
 * @throws NodeError "cluster-away"
 */
export async function readRecords(options: RecordReadOptions): Promise<readonly FedMessage[]> {
  const { clock, timeoutMs, live, subjects, atLeast, existing } = options;
  const deadline = clock.now() + timeoutMs;
  const all = withoutContained([...subjects, atLeast.subject, existing]);
  const isWanted = ({ subject, data }: FedMessage) =>
    data !== undefined && subjects.some((pattern) => contains(pattern, subject));
  while (clock.now() < deadline) {
    const direct = await readDirectly({ ...options, subjects: all });
    const answer = direct === "too-many" ? await readByConsumer({ ...options, subjects: all }, deadline) : direct;
    if (answer !== "behind") return answer.filter(isWanted);
    await pause(clock, BEHIND_PAUSE_MS, live.signal);
  }
  throw awayError(new Error("no server has the newest records"));
}

/** https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-31.md, "multi-subject requests". */
function readDirectly(options: RecordReadOptions): Promise<readonly FedMessage[] | "behind" | "too-many"> {
  const { live, stream, subjects, atLeast, clock } = options;
  return new Promise((resolve, reject) => {
    const found: FedMessage[] = [];
    const inbox = live.module.createInbox();
    const onSilence = () => settle(() => resolve("behind"));
    let silence = clock.after(DIRECT_SILENCE_MS, onSilence);
    const settle = (result: () => void): void => {
      subscription.unsubscribe();
      silence.cancel();
      stopListening();
      result();
    };
    const subscription = live.nats.subscribe(inbox, {
      callback: (error, { headers, data }) => {
        if (error !== null) return settle(() => reject(awayError(error)));
        silence.cancel();
        silence = clock.after(DIRECT_SILENCE_MS, onSilence);
        const code = headers?.code ?? 0;
        if (code === 0 && headers !== undefined) {
          const operation = headers.get("KV-Operation");
          const isRemoved = operation === "DEL" || operation === "PURGE";
          const subject = headers.get("Nats-Subject");
          const revision = Number(headers.get("Nats-Sequence"));
          found.push({ subject, revision, data: isRemoved ? undefined : data });
          return;
        }
        if (code === 413) return settle(() => resolve("too-many"));
        if (code !== 204) return settle(() => resolve("behind"));
        // The end. More are pending when they are too large for one answer.
        if (headers?.get("Nats-Num-Pending") !== "0") return settle(() => resolve("too-many"));
        if (Number(headers.get("Nats-UpTo-Sequence")) < atLeast.revision) return settle(() => resolve("behind"));
        settle(() => resolve(found));
      },
    });
    const stopListening = onAbort(live.signal, () => queueMicrotask(() => settle(() => reject(live.signal.reason))));
    if (live.signal.aborted) return;
    live.nats.publish(
      `$JS.API.DIRECT.GET.${stream}`,
      JSON.stringify({ multi_last: subjects, max_bytes: DIRECT_SIZE_MAX_BYTES }),
      { reply: inbox },
    );
  });
}

function readByConsumer(options: RecordReadOptions, deadline: number): Promise<readonly FedMessage[]> {
  const { live, stream, subjects, atLeast, clock } = options;
  return new Promise((resolve, reject) => {
    const found = new Map<string, FedMessage>();
    let isCaughtUp = false;
    let isReached = false;
    let retry: Timer | undefined;
    const settle = (result: () => void): void => {
      timer.cancel();
      retry?.cancel();
      feed.stop();
      result();
    };
    const settleIfDone = (): void => {
      if (!isCaughtUp || !isReached) return;
      settle(() => resolve([...found.values()]));
    };
    const timer = clock.after(Math.max(0, deadline - clock.now()), () =>
      settle(() => reject(awayError(new Error("the records have not come in time")))),
    );
    const start = () =>
      new RecordFeed({
        live,
        stream,
        subjects,
        clock,
        onMessage: (message) => {
          found.set(message.subject, message);
          isReached ||= message.revision >= atLeast.revision;
          if (isCaughtUp) settleIfDone();
        },
        onCaughtUp: () => {
          isCaughtUp = true;
          settleIfDone();
          // It may be long removed: its mark is gone then, too.
          if (isReached) return;
          lastMessage(live, stream, atLeast.subject, Math.max(1, deadline - clock.now())).then(
            (last) => {
              isReached ||= last === undefined;
              settleIfDone();
            },
            () => undefined, // The deadline decides.
          );
        },
        onEnd: (reason) => {
          if (live.signal.aborted) return settle(() => reject(awayError(reason)));
          found.clear();
          isCaughtUp = false;
          isReached = false;
          retry = clock.after(RETRY_MS, () => {
            feed = start();
          });
        },
      });
    let feed = start();
  });
}
