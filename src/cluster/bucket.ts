// The records that the machines of a cluster share: sealed texts by key, each write all or nothing, with revisions.
// nats-bucket.ts is the real one, a JetStream stream in the form of a key-value bucket. Main thread.

/** One record as it was read or has changed. */
export interface BucketEntry {
  /** As in StateRecord: parts separated by `/`. */
  readonly key: string;
  /** Undefined: it was removed. */
  readonly value: string | undefined;
  /** Grows with every write to the bucket. */
  readonly revision: number;
  /** When the servers stored it, Unix epoch milliseconds by their clock; undefined: not known here. */
  readonly storedEpochMs?: number | undefined;
}

export interface BucketChange {
  readonly key: string;
  /** Undefined removes the record; it need not exist. */
  readonly value: string | undefined;
  /** The write fails unless the record has this revision; 0: unless there was never one, or it was removed. */
  readonly expected?: number | undefined;
  /** The servers forget the record after so long, at least a second; it is then as if it had never been. Default: never. */
  readonly ttlMs?: number | undefined;
}

/** Another record that must have that revision for a write to count. */
export interface BucketGuard {
  readonly key: string;
  readonly revision: number;
}

export interface WriteOptions {
  readonly guard?: BucketGuard | undefined;
  readonly timeoutMs: number;
}

export interface BucketWatch {
  /**
   * Keys, or patterns with `*` for one part and a final `>` for one or more parts. All records that match are given first,
   * in the order of their revisions, then each change.
   */
  readonly patterns: readonly string[];
  readonly onEntry: (entry: BucketEntry) => void;
  /** All records that there were when the watch began have been given. Called again whenever it had to restart. */
  readonly onCaughtUp: () => void;
}

/** Values are sealed with the key of the cluster, their keys are not. */
export interface Bucket {
  /**
   * Applies all of the changes or none; resolves with the revision of each.
   * @throws NodeError
   *   - "cluster-conflict": a record has another revision than was expected. Nothing is written.
   *   - "cluster-fenced": the guard has another revision. Nothing is written.
   *   - "cluster-away": no answer within `timeoutMs`, or no connection. It may have been written.
   *   - "state-full": the bucket has no room, or a value is larger than the servers accept. Nothing is written.
   */
  write(changes: readonly BucketChange[], options: WriteOptions): Promise<readonly number[]>;
  /**
   * The newest record under that key, removed or not; undefined when there was never one, or it is long removed.
   * @throws NodeError "cluster-away"
   */
  get(key: string): Promise<BucketEntry | undefined>;
  /**
   * All existing records that match a pattern (see BucketWatch), as they are once the record `atLeast.key` has reached
   * `atLeast.revision`: replicas that are behind are waited for.
   * @throws NodeError "cluster-away"
   */
  read(patterns: readonly string[], options: { readonly atLeast: BucketGuard }): Promise<readonly BucketEntry[]>;
  /**
   * Tells of the key of every existing record that matches a pattern (see BucketWatch), as the records come, without their
   * values. Resolves when all have come. What is written meanwhile may be missing.
   * @throws NodeError "cluster-away"
   */
  list(patterns: readonly string[], onKey: (key: string) => void): Promise<void>;
  /** Goes on through losses of the connection; the returned function ends it. Values that cannot be opened are left out. */
  watch(watch: BucketWatch): () => void;
}
