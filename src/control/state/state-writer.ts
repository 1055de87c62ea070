// Writes what has changed to the store: one batch at a time, each with all that was marked while the one before was
// under way. Main thread; the store itself writes elsewhere.

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
/** Longest that an answer waits for what it is about. */
const ANSWER_MS_MAX = 250;

/** The changes of one thing, as they are when they are written. */
export type ReadChanges = () => readonly StateChange[];

interface Entry {
  /** Ascending in the order in which entries were marked. */
  readonly order: number;
  readonly read: ReadChanges;
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
  /** Some of what was marked was not written, and will not be. */
  readonly onDropped: () => void;
  /** The store has lost all that was written; what is marked now is written next. */
  readonly onEmptied: () => void;
}

/** One for the node. */
export class StateWriter {
  readonly #options: StateWriterOptions;
  readonly #entries = new Map<string, Entry>();
  #order = 0;
  #isScheduled = false;
  #writing: Promise<void> | undefined;
  /** The batch that failed: it is written before anything else, as its entries do not read the same a second time. */
  #failed: readonly StateChange[] = [];
  /** One has failed, and the next try is later. */
  #isPausing = false;
  /** A write takes so long that answers do not wait for it. */
  #isHanging = false;
  #isStopped = false;
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

  /** What `read` returns later is written within some milliseconds. A second mark of the same entry replaces the first. */
  mark(entry: string, read: ReadChanges): void {
    if (this.#isStopped) return;
    const order = this.#entries.get(entry)?.order ?? ++this.#order;
    this.#entries.set(entry, { order, read });
    this.#schedule();
  }

  /**
   * Resolves when all that is marked now has been written, or after a quarter of a second. Undefined: there is nothing
   * to wait for, or no use in waiting.
   */
  written(): Promise<void> | undefined {
    if (this.#isIdle || this.#isHanging || this.#status.kind === "failing") return undefined;
    return new Promise((resolve) => {
      const timer = this.#options.clock.after(ANSWER_MS_MAX, () => {
        this.#isHanging = true;
        this.#settleWaiters(Number.POSITIVE_INFINITY);
      });
      const settle = (): void => {
        timer.cancel();
        resolve();
      };
      this.#waiters.push({ order: this.#order, resolve: settle });
    });
  }

  /**
   * Reads all that is marked within this call, and writes it; nothing that is marked later is. Resolves when that has
   * been done or has failed.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const last: (readonly StateChange[])[] = [];
    while (this.#entries.size > 0) last.push(this.#takeBatch());
    await this.#writing;
    for (const batch of [this.#failed, ...last]) if (batch.length > 0) await this.#writeBatch(batch);
    this.#settleWaiters(Number.POSITIVE_INFINITY);
  }

  get #isIdle(): boolean {
    return this.#writing === undefined && this.#entries.size === 0 && this.#failed.length === 0;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#writing !== undefined || this.#isPausing) return;
    this.#isScheduled = true;
    // After the requests that have arrived together.
    this.#options.clock.after(0, () => {
      this.#isScheduled = false;
      if (this.#writing === undefined) void this.#write();
    });
  }

  #write(): Promise<void> {
    const changes = this.#failed.length > 0 ? this.#failed : this.#takeBatch();
    const writing = changes.length === 0 ? Promise.resolve() : this.#writeBatch(changes);
    this.#writing = writing.finally(() => {
      this.#writing = undefined;
      const [first] = this.#entries.values();
      if (this.#status.kind === "failing") this.#settleWaiters(Number.POSITIVE_INFINITY);
      else this.#settleWaiters((first?.order ?? this.#order + 1) - 1);
      if (first !== undefined) this.#schedule();
    });
    return this.#writing;
  }

  /** The oldest entries. */
  #takeBatch(): readonly StateChange[] {
    const batch: StateChange[] = [];
    let sizeBytes = 0;
    for (const [name, { read }] of this.#entries) {
      this.#entries.delete(name);
      for (const change of this.#storable(this.#changesOf(read))) {
        batch.push(change);
        sizeBytes += change.value?.length ?? 0;
      }
      if (batch.length >= BATCH_CHANGES_MAX || sizeBytes >= BATCH_BYTES_MAX) break;
    }
    return batch;
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

  async #writeBatch(changes: readonly StateChange[]): Promise<void> {
    try {
      await this.#options.store.write(changes);
    } catch (error) {
      this.#onFailed(changes, error);
      return;
    } finally {
      this.#isHanging = false;
    }
    this.#failed = [];
    this.#counts.writes++;
    for (const { value } of changes) this.#counts.writtenBytes += value?.length ?? 0;
    if (this.#status.kind !== "failing") return;
    this.#status = { kind: "working" };
    this.#options.logger.info("state: writing works again");
  }

  #onFailed(changes: readonly StateChange[], error: unknown): void {
    const { clock, logger } = this.#options;
    const code = error instanceof NodeError ? error.code : undefined;
    // In a full store there is still room for what makes some.
    this.#failed = code === "state-full" ? changes.filter(({ value }) => value === undefined) : changes;
    if (code === "state-full") this.#options.onDropped();
    this.#counts.failedWrites++;
    if (code === "state-damaged") this.#options.onEmptied();
    if (this.#status.kind !== "failing") {
      const reason = error instanceof NodeError ? error.message : "the store has failed";
      this.#status = { kind: "failing", reason, sinceEpochMs: clock.epochMs() };
      logger.warn(`state: ${reason}; players play on, but a restart would lose what changes from now on`, { error });
    }
    this.#isPausing = true;
    clock.after(RETRY_MS, () => {
      this.#isPausing = false;
      if (!this.#isIdle && !this.#isStopped) this.#schedule();
    });
  }

  #settleWaiters(order: number): void {
    const settled = this.#waiters.filter((waiter) => waiter.order <= order);
    this.#waiters = this.#waiters.filter((waiter) => waiter.order > order);
    for (const { resolve } of settled) resolve();
  }
}
