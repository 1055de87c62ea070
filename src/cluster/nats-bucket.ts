// The records of the cluster in a JetStream stream. Every write is one atomic batch; writes under one guard go one after
// the other, because a replicated stream refuses a condition on what another batch in flight has a condition on.
// Main thread.

import { NodeError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { pause } from "../lib/pause.ts";
import type { Random } from "../lib/random.ts";
import type { Logger } from "../log/log.ts";
import type { Sealing } from "../state/sealing.ts";
import {
  BATCH_LENGTH_MAX,
  type BatchMessage,
  type BatchOutcome,
  type Expectation,
  HEADERS_SIZE_MAX_BYTES,
  sendBatch,
} from "./atomic-batch.ts";
import type { Bucket, BucketChange, BucketEntry, BucketGuard, BucketWatch, WriteOptions } from "./bucket.ts";
import { BucketFill } from "./bucket-fill.ts";
import { API_ERRORS, type ApiRefusal } from "./jetstream-api.ts";
import { awayError, type LiveBucket } from "./live-nats.ts";
import type { ConnectionLoop } from "./nats-connection.ts";
import { CONTRACT_KEY } from "./nats-stream.ts";
import { listRecords } from "./record-list.ts";
import { readRecords } from "./record-read.ts";
import { type RecordSubjects, withoutContained } from "./record-subjects.ts";
import { RecordWatch } from "./record-watch.ts";
import { lastMessage } from "./stored-message.ts";

const GET_TIMEOUT_MS = 3000;
const READ_TIMEOUT_MS = 20_000;
/** Before a batch that was refused for a passing reason is sent again; doubled each time. */
const RETRY_MS_MIN = 5;
const RETRY_MS_MAX = 200;

const FULL_HINT = "raise max_bytes of its stream, and max_file_store of the servers";

export interface NatsBucketOptions {
  readonly connection: ConnectionLoop;
  readonly subjects: RecordSubjects;
  readonly sealing: Sealing;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Batch {
  readonly changes: readonly BucketChange[];
  readonly guard: BucketGuard | undefined;
  /** By key: conditions that replace those of the changes. */
  readonly expected: Map<string, number>;
}

export class NatsBucket implements Bucket {
  readonly #options: NatsBucketOptions;
  readonly #fill: BucketFill;
  /** The last write under each guard. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(options: NatsBucketOptions) {
    this.#options = options;
    this.#fill = new BucketFill({ ...options, stream: options.subjects.stream });
  }

  async write(changes: readonly BucketChange[], { guard, timeoutMs }: WriteOptions): Promise<readonly number[]> {
    const { clock } = this.#options;
    if (changes.length === 0) return [];
    const isUnique = new Set(changes.map(({ key }) => key)).size === changes.length;
    if (!isUnique || changes.length >= BATCH_LENGTH_MAX) {
      throw new NodeError("internal", `a write of ${changes.length} records, too many or some of them twice`);
    }
    if (this.#fill.isNearlyFull && changes.some(({ key, value }) => value !== undefined && !isVital(key))) {
      throw new NodeError("state-full", `the bucket of the cluster is nearly full: ${FULL_HINT}`);
    }
    const deadline = clock.now() + timeoutMs;
    if (guard === undefined) return await this.#write(changes, guard, deadline);
    const before = this.#queues.get(guard.key);
    const work = this.#after(before, deadline).then(() => this.#write(changes, guard, deadline));
    const settled = work.then(
      () => undefined,
      () => undefined,
    );
    this.#queues.set(guard.key, settled);
    void settled.then(() => {
      if (this.#queues.get(guard.key) === settled) this.#queues.delete(guard.key);
    });
    return await work;
  }

  async get(key: string): Promise<BucketEntry | undefined> {
    const { subjects, sealing } = this.#options;
    const live = this.#live();
    try {
      const found = await lastMessage(live, subjects.stream, subjects.ofKey(key), GET_TIMEOUT_MS);
      if (found === undefined) return undefined;
      const value = found.data === undefined ? undefined : sealing.open(key, found.data);
      return { key, value, revision: found.revision };
    } catch (error) {
      throw awayError(error);
    }
  }

  async read(
    patterns: readonly string[],
    { atLeast }: { readonly atLeast: BucketGuard },
  ): Promise<readonly BucketEntry[]> {
    const { subjects, sealing, clock } = this.#options;
    const live = this.#live();
    const wanted = withoutContained(patterns.map((pattern) => subjects.ofPattern(pattern)));
    const found = await readRecords({
      live,
      stream: subjects.stream,
      subjects: wanted,
      atLeast: { subject: subjects.ofKey(atLeast.key), revision: atLeast.revision },
      existing: subjects.ofKey(CONTRACT_KEY),
      clock,
      timeoutMs: READ_TIMEOUT_MS,
    });
    return found.flatMap(({ subject, revision, data }) => {
      const key = subjects.keyOf(subject);
      const value = data && sealing.open(key, data);
      return value === undefined ? [] : [{ key, value, revision }];
    });
  }

  async list(patterns: readonly string[], onKey: (key: string) => void): Promise<void> {
    const { subjects, clock } = this.#options;
    await listRecords({
      live: this.#live(),
      stream: subjects.stream,
      subjects: withoutContained(patterns.map((pattern) => subjects.ofPattern(pattern))),
      clock,
      onSubject: (subject) => onKey(subjects.keyOf(subject)),
    });
  }

  watch({ patterns, onEntry, onCaughtUp }: BucketWatch): () => void {
    const { connection, subjects, sealing, clock, logger } = this.#options;
    const watch = new RecordWatch({
      stream: subjects.stream,
      subjects: withoutContained(patterns.map((pattern) => subjects.ofPattern(pattern))),
      clock,
      logger,
      onMessage: ({ subject, revision, storedEpochMs, data }) => {
        const key = subjects.keyOf(subject);
        if (data === undefined) return onEntry({ key, value: undefined, revision });
        const value = sealing.open(key, data);
        if (value !== undefined) onEntry({ key, value, revision, storedEpochMs });
      },
      onCaughtUp,
    });
    const unlisten = connection.onLive((live) => watch.setLive(live));
    return () => {
      unlisten();
      watch.stop();
    };
  }

  /** Waits for the write before, which has a deadline as well. */
  async #after(before: Promise<unknown> | undefined, deadline: number): Promise<void> {
    if (before === undefined) return;
    const { clock } = this.#options;
    const waited = new AbortController();
    const isLate = await Promise.race([
      before.then(() => false),
      pause(clock, Math.max(0, deadline - clock.now()), waited.signal).then(() => true),
    ]);
    waited.abort();
    if (isLate) throw awayError(new Error("the writes before it have taken too long"));
  }

  async #write(
    changes: readonly BucketChange[],
    guard: BucketGuard | undefined,
    deadline: number,
  ): Promise<readonly number[]> {
    const { clock, connection } = this.#options;
    const batch: Batch = { changes, guard, expected: new Map() };
    for (let retryMs = RETRY_MS_MIN; ; retryMs = Math.min(retryMs * 2, RETRY_MS_MAX)) {
      const live = this.#live();
      const remainingMs = deadline - clock.now();
      if (remainingMs <= 0) throw awayError(new Error("the write has taken too long"));
      const outcome = await this.#send(live, batch, remainingMs);
      if (outcome.kind === "stored") return changes.map((_change, index) => outcome.firstRevision + index);
      if (outcome.kind === "nobody") connection.checkBucket();
      else if (await this.#isChanged(live, batch, outcome.refusal, deadline)) continue;
      if (clock.now() + retryMs >= deadline) throw awayError(describe(outcome));
      await pause(clock, retryMs, live.signal);
    }
  }

  #send(live: LiveBucket, batch: Batch, timeoutMs: number): Promise<BatchOutcome> {
    const messages = this.#messagesOf(batch);
    const sizeMax = (live.nats.info?.max_payload ?? 1024 * 1024) - HEADERS_SIZE_MAX_BYTES;
    const largest = Math.max(...messages.map(({ data }) => data?.length ?? 0));
    if (largest > sizeMax) {
      const text = `a record of ${largest} bytes is larger than a message of NATS: raise max_payload of the servers`;
      throw new NodeError("state-full", text);
    }
    const id = Buffer.from(this.#options.random.bytes(16)).toString("hex");
    return sendBatch(live, messages, { id, timeoutMs });
  }

  #messagesOf({ changes, guard, expected }: Batch): readonly BatchMessage[] {
    const { subjects, sealing } = this.#options;
    let pendingGuard: Expectation | undefined = guard && {
      subject: subjects.ofKey(guard.key),
      revision: guard.revision,
    };
    // A change of the guard itself is its own proof, and no other message may have a condition on it then.
    if (changes.some(({ key }) => key === guard?.key)) pendingGuard = undefined;
    const messages = changes.map(({ key, value, expected: asked, ttlMs }): BatchMessage => {
      const subject = subjects.ofKey(key);
      const revision = key === guard?.key ? guard.revision : (expected.get(key) ?? asked);
      let condition: Expectation | undefined;
      if (revision !== undefined) condition = { subject, revision };
      else {
        condition = pendingGuard;
        pendingGuard = undefined;
      }
      const data = value === undefined ? undefined : sealing.seal(key, value);
      return { subject, data, expected: condition, ttlS: ttlMs === undefined ? undefined : Math.ceil(ttlMs / 1000) };
    });
    if (guard === undefined || pendingGuard === undefined) return messages;
    // Each has its condition, so the guard's goes with a message that says nothing.
    const subject = subjects.ofKey(`touch/${guard.key.slice(guard.key.lastIndexOf("/") + 1)}`);
    return [...messages, { subject, data: undefined, expected: pendingGuard }];
  }

  /**
   * What to do about a refusal: true when the batch has been changed and is to be sent again, false when it is to be sent
   * again as it is, a little later.
   * @throws NodeError for what sending again does not change
   */
  async #isChanged(live: LiveBucket, batch: Batch, refusal: ApiRefusal, deadline: number): Promise<boolean> {
    switch (refusal.code) {
      case API_ERRORS.wrongLastSequence:
      case API_ERRORS.wrongLastSequenceUnsaid:
        return await this.#hasOutdated(live, batch, deadline);
      case API_ERRORS.batchIncomplete:
      case API_ERRORS.batchesTooMany:
      case API_ERRORS.clusterNotAvailable:
      case API_ERRORS.clusterNotLeader:
        return false;
      case API_ERRORS.storeFailed:
      case API_ERRORS.insufficientResources:
      case API_ERRORS.storageResources:
      case API_ERRORS.accountResources:
      case API_ERRORS.memoryResources:
      case API_ERRORS.messageTooLarge:
        throw new NodeError("state-full", `the bucket of the cluster has no room (${refusal.message}): ${FULL_HINT}`);
      default:
        this.#options.connection.checkBucket();
        throw awayError(refusal);
    }
  }

  /** Finds the condition that was not met. */
  async #hasOutdated(live: LiveBucket, { changes, guard, expected }: Batch, deadline: number): Promise<boolean> {
    const { subjects, clock } = this.#options;
    const last = async (key: string) =>
      await lastMessage(live, subjects.stream, subjects.ofKey(key), Math.max(1, deadline - clock.now()));
    try {
      if (guard !== undefined && (await last(guard.key))?.revision !== guard.revision) {
        throw new NodeError(
          "cluster-fenced",
          `the record ${guard.key} is not as it was: nothing of this machine counts`,
        );
      }
      const conditions = changes.flatMap(({ key, expected: asked }) => (asked === undefined ? [] : [{ key, asked }]));
      let isChanged = false;
      await Promise.all(
        conditions.map(async ({ key, asked }) => {
          const found = await last(key);
          const revision = found?.revision ?? 0;
          if (revision === (expected.get(key) ?? asked)) return;
          if (asked !== 0 || (found !== undefined && found.data !== undefined)) {
            throw new NodeError("cluster-conflict", `the record ${key} has revision ${revision} instead of ${asked}`);
          }
          // What is left of a removed record.
          expected.set(key, revision);
          isChanged = true;
        }),
      );
      return isChanged;
    } catch (error) {
      throw awayError(error);
    }
  }

  #live(): LiveBucket {
    const { connection } = this.#options;
    if (connection.live !== undefined) return connection.live;
    const { status } = connection;
    throw awayError(new Error(status.kind === "disconnected" ? status.reason : "no connection"));
  }
}

/** Without these a full bucket would make every machine lose its place; with them it can be emptied. */
function isVital(key: string): boolean {
  return /^(?:machine|life|owner)\//.test(key);
}

function describe(outcome: BatchOutcome): Error {
  return outcome.kind === "refused" ? outcome.refusal : new Error("JetStream has no leader for the bucket");
}
