// Writes what has changed to the store: one batch at a time, each with what was marked while the one before was under
// way. What answers wait for comes before what comes in bulk. Main thread; the store itself writes elsewhere.

import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { STATE_LIMITS, type StateChange, type StateStore } from "../../state/state-store.ts";
import type { StateStatus } from "./state-status.ts";

/** A batch ends with the entry that reaches either bound: reading and encrypting it takes the main thread's time. */
const BATCH_CHANGES_MAX = 200;
const BATCH_BYTES_MAX = 256 * 1024;
/** Before the next try when one has failed. */
const RETRY_MS = 5000;
/** Longest that an answer waits for what it is about, as a rule. */
const ANSWER_MS_MAX = 250;

/** The changes of one thing, as they are when they are written. */
export type ReadChanges = () => readonly StateChange[];

interface Entry {
  /** Ascending in the order in which entries were marked. */
  readonly order: number;
  readonly read: ReadChanges;
}

interface Batch {
  readonly changes: readonly StateChange[];
  /** What they are the changes of. */
  readonly entries: ReadonlyMap<string, ReadChanges>;
}

interface MarkOptions {
  /** It comes with many others, and no answer is to wait for it. Default: false. */
  readonly isBulk?: boolean;
}

interface Waiter {
  /** All entries up to this one are to be written. */
  readonly order: number;
  readonly resolve: () => void;
}

export interface StateWriterOptions {
  readonly store: Pick<StateStore, "write">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Longest that an answer waits. Infinity: until its write is done or has failed. Default: a quarter of a second. */
  readonly answerMsMax?: number | undefined;
  /** Some of what was read was not written, and will be read again. */
  readonly onRefused: () => void;
  /** The store has lost all that was written; what is marked now is written next. */
  readonly onEmptied: () => void;
}

/** One for the node. */
export class StateWriter {
  readonly #options: StateWriterOptions;
  readonly #entries = new Map<string, Entry>();
  /** Written when there are no others. */
  readonly #bulk = new Map<string, ReadChanges>();
  /** Those that the store had no room for. */
  readonly #refused = new Set<string>();
  /** Keys of records that the store may have. */
  readonly #known = new Set<string>();
  #order = 0;
  #isScheduled = false;
  #writing: Promise<void> | undefined;
  /** The batch that failed: it is written before anything else, as its entries do not read the same a second time. */
  #failed: Batch | undefined;
  /** The store has lost all that it had, and nothing has been written since. */
  #isEmptied = false;
  /** Answers may wait for the write that is under way. */
  #isWritingEntries = false;
  /** One has failed, and the next try is later. */
  #isPausing = false;
  /** A write takes so long that answers do not wait for it. */
  #isHanging = false;
  #isStopped = false;
  /** Counts resets: what was read before the last one is neither written again nor learned from. */
  #resetCount = 0;
  #status: StateStatus = { kind: "working" };
  #waiters: Waiter[] = [];
  readonly #counts = { writes: 0, failedWrites: 0, writtenBytes: 0 };

  constructor(options: StateWriterOptions) {
    this.#options = options;
  }

  get status(): StateStatus {
    return this.#status;
  }

  /** Since the process started. */
  get counts(): { readonly writes: number; readonly failedWrites: number; readonly writtenBytes: number } {
    return this.#counts;
  }

  /** The store has records with these keys. */
  learn(keys: Iterable<string>): void {
    for (const key of keys) this.#known.add(key);
  }

  /** The records with these keys are somebody else's now. */
  forget(keys: Iterable<string>): void {
    for (const key of keys) this.#known.delete(key);
  }

  /** Whether the store may have a record with that key. */
  isKnown(key: string): boolean {
    return this.#known.has(key);
  }

  /** What `read` returns later is written within some milliseconds. A second mark of the same entry replaces the first. */
  mark(entry: string, read: ReadChanges, { isBulk = false }: MarkOptions = {}): void {
    if (this.#isStopped) return;
    if (isBulk && !this.#entries.has(entry)) {
      this.#bulk.set(entry, read);
      this.#schedule();
      return;
    }
    this.#bulk.delete(entry);
    const order = this.#entries.get(entry)?.order ?? ++this.#order;
    this.#entries.set(entry, { order, read });
    this.#schedule();
  }

  /** Its last mark counts no more. */
  unmark(entry: string): void {
    this.#entries.delete(entry);
    this.#bulk.delete(entry);
    this.#refused.delete(entry);
  }

  /** What it would read now is what is written of it, whatever comes; nothing where it is not marked. */
  fix(entry: string): void {
    const marked = this.#entries.get(entry);
    const read = marked?.read ?? this.#bulk.get(entry);
    if (read === undefined) return;
    const changes = this.#changesOf(read);
    if (marked === undefined) this.#bulk.set(entry, () => changes);
    else this.#entries.set(entry, { ...marked, read: () => changes });
  }

  /**
   * Resolves when all that is marked now has been written or has failed, but for what comes in bulk, or after
   * `answerMsMax`. Undefined: there is nothing to wait for, or no use in waiting.
   */
  written(): Promise<void> | undefined {
    if (this.#entries.size === 0 && !this.#isWritingEntries) return undefined;
    if (this.#isHanging || this.#status.kind === "failing") return undefined;
    const { clock, answerMsMax = ANSWER_MS_MAX } = this.#options;
    if (answerMsMax === Number.POSITIVE_INFINITY) return this.#settled();
    const settled = this.#settled();
    const timer = clock.after(answerMsMax, () => {
      this.#isHanging = true;
      this.#settleWaiters(Number.POSITIVE_INFINITY);
    });
    return settled.then(() => timer.cancel());
  }

  /**
   * Resolves when all that is marked now, also in bulk, has been written or has failed: `status` says which. It does not
   * wait while writes fail.
   */
  async flushed(): Promise<void> {
    for (const [name, read] of this.#bulk) this.mark(name, read);
    const isWritten = this.#entries.size === 0 && this.#writing === undefined;
    if (!isWritten && this.#status.kind !== "failing") await this.#settled();
  }

  /** All that was marked belongs to somebody else now, and so does what the store has: it is all forgotten. */
  reset(): void {
    this.#resetCount++;
    this.#entries.clear();
    this.#bulk.clear();
    this.#refused.clear();
    this.#known.clear();
    this.#failed = undefined;
    this.#isEmptied = false;
    this.#isHanging = false;
    this.#isPausing = false;
    this.#status = { kind: "working" };
    this.#settleWaiters(Number.POSITIVE_INFINITY);
  }

  /**
   * Reads all that is marked within this call, and writes it; nothing that is marked later is. Resolves when that has
   * been done or has failed.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const resetCount = this.#resetCount;
    const last: Batch[] = [];
    while (this.#entries.size + this.#bulk.size > 0) last.push(this.#takeBatch());
    await this.#writing;
    const batches = this.#failed === undefined ? last : [this.#failed, ...last];
    // After a failure, or in a store that has lost what it had, the rest would be a part of it all.
    for (const batch of this.#isEmptied ? [] : batches) {
      if (resetCount !== this.#resetCount || (await this.#writeBatch(batch)) === "failed") break;
    }
    this.#settleWaiters(Number.POSITIVE_INFINITY);
  }

  /** When all entries that are marked now have been written or have failed. */
  #settled(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push({ order: this.#order, resolve }));
  }

  #schedule(): void {
    if (this.#isScheduled || this.#writing !== undefined || this.#isPausing) return;
    this.#isScheduled = true;
    // After the requests that have arrived together.
    this.#options.clock.after(0, () => {
      this.#isScheduled = false;
      if (this.#writing === undefined && !this.#isStopped) void this.#write();
    });
  }

  #write(): Promise<void> {
    this.#isWritingEntries = this.#entries.size > 0;
    this.#writing = this.#writeBatch(this.#failed ?? this.#takeBatch()).then(() => {
      this.#writing = undefined;
      this.#isWritingEntries = false;
      // `stop` has taken what is left, and writes it.
      if (this.#isStopped) return;
      const [first] = this.#entries.values();
      if (this.#status.kind === "failing") this.#settleWaiters(Number.POSITIVE_INFINITY);
      else this.#settleWaiters((first?.order ?? this.#order + 1) - 1);
      if (first !== undefined || this.#bulk.size > 0) this.#schedule();
    });
    return this.#writing;
  }

  /** The oldest entries, then those of the bulk. */
  #takeBatch(): Batch {
    const changes: StateChange[] = [];
    const entries = new Map<string, ReadChanges>();
    let sizeBytes = 0;
    // What was refused is a batch by itself: with it all others would be refused, too.
    let areRefused: boolean | undefined;
    for (const [name, read] of this.#waiting()) {
      areRefused ??= this.#refused.has(name);
      if (areRefused !== this.#refused.has(name)) break;
      this.unmark(name);
      entries.set(name, read);
      for (const change of this.#storable(this.#changesOf(read))) {
        changes.push(change);
        sizeBytes += change.value?.length ?? 0;
        if (change.value !== undefined) this.#known.add(change.key);
      }
      if (changes.length >= BATCH_CHANGES_MAX || sizeBytes >= BATCH_BYTES_MAX) break;
    }
    return { changes, entries };
  }

  *#waiting(): Iterable<readonly [string, ReadChanges]> {
    for (const [name, { read }] of this.#entries) yield [name, read];
    yield* this.#bulk;
  }

  /** What one thing cannot be written for must not end the process. */
  #changesOf(read: ReadChanges): readonly StateChange[] {
    try {
      return read();
    } catch (error) {
      this.#options.logger.error("state: something could not be read and is not stored; please report it", { error });
      return [];
    }
  }

  /** What has a part that is too large for the store is removed from it as a whole. */
  #storable(changes: readonly StateChange[]): readonly StateChange[] {
    const tooLarge = changes.find(({ value }) => Buffer.byteLength(value ?? "") > STATE_LIMITS.valueBytesMax);
    if (tooLarge === undefined) return changes;
    this.#options.logger.warn("state: a record is too large and is not stored", { record: tooLarge.key });
    return changes.map(({ key }) => ({ key, value: undefined }));
  }

  /** Never rejects. `refused`: there is no room for some of it. */
  async #writeBatch(batch: Batch): Promise<"written" | "refused" | "failed"> {
    this.#failed = undefined;
    const { changes } = batch;
    if (changes.length === 0) return "written";
    const resetCount = this.#resetCount;
    try {
      await this.#options.store.write(changes);
    } catch (error) {
      return resetCount === this.#resetCount ? this.#onFailed(batch, error) : "failed";
    } finally {
      this.#isHanging = false;
    }
    this.#counts.writes++;
    if (resetCount !== this.#resetCount) return "written";
    for (const { key, value } of changes) {
      if (value === undefined) this.#known.delete(key);
      else this.#counts.writtenBytes += value.length;
    }
    this.#isEmptied = false;
    if (this.#status.kind !== "failing" || this.#refused.size > 0) return "written";
    this.#status = { kind: "working" };
    this.#options.logger.info("state: writing works again");
    return "written";
  }

  #onFailed(batch: Batch, error: unknown): "refused" | "failed" {
    const { clock, logger } = this.#options;
    const code = error instanceof NodeError ? error.code : undefined;
    // It belongs to another machine now: `reset` follows, or has been called.
    if (code === "cluster-fenced") return "failed";
    if (code === "state-full") this.#refuse(batch);
    else this.#failed = batch;
    this.#counts.failedWrites++;
    if (code === "state-damaged") {
      this.#isEmptied = true;
      this.#options.onEmptied();
    }
    if (this.#status.kind !== "failing") {
      const reason = error instanceof NodeError ? error.message : "the store has failed";
      this.#status = { kind: "failing", reason, sinceEpochMs: clock.epochMs() };
      logger.warn(`state: ${reason}; players play on, but a restart would lose what changes from now on`, { error });
    }
    this.#isPausing = true;
    clock.after(RETRY_MS, () => {
      this.#isPausing = false;
      if (this.#failed !== undefined || this.#entries.size + this.#bulk.size > 0) this.#schedule();
    });
    return code === "state-full" ? "refused" : "failed";
  }

  /** Only what makes room is written again as it is. The rest is read again, behind all that may make more. */
  #refuse({ changes, entries }: Batch): void {
    const removals = changes.filter(({ value }) => value === undefined);
    if (removals.length > 0) this.#failed = { changes: removals, entries: new Map() };
    for (const [name, read] of entries) {
      this.#refused.add(name);
      // It may have been marked since, and read otherwise.
      if (!this.#entries.has(name) && !this.#bulk.has(name)) this.mark(name, read, { isBulk: true });
    }
    this.#options.onRefused();
  }

  #settleWaiters(order: number): void {
    const settled = this.#waiters.filter((waiter) => waiter.order <= order);
    this.#waiters = this.#waiters.filter((waiter) => waiter.order > order);
    for (const { resolve } of settled) resolve();
  }
}
