// The store on one open database: encrypts, keeps within the bounds, writes, and syncs to disk behind the writes. After
// a failed write it gives up the database, whose log may end within a record, and opens it again with the next write.
// Between src/control/state/ and open-records.ts; main thread.

import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import type { Timer } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import type { Operation } from "./database.ts";
import type { LedgerEntry, Total } from "./ledger.ts";
import { type OpenRecords, openRecords, type RecordsOptions, recordsFolder, withTotal } from "./open-records.ts";
import { markOf } from "./sealing.ts";
import {
  CLOSE_MS_MAX,
  KEY_LENGTH_MAX,
  type StateChange,
  type StateLimits,
  type StateRecord,
  type StateStore,
  SYNC_DELAY_MS,
} from "./state-store.ts";

/** The database writes some text to a log of its work, which nobody reads; it is emptied after this much. */
const TEXT_LOG_INTERVAL_BYTES = 64 * 1024 * 1024;

/** What is kept of them: not the records, whose values are plain text. */
type Opened = Omit<OpenRecords, "records">;

export class RecordStore implements StateStore {
  readonly #options: RecordsOptions;
  /** Undefined after a failure, and when closed. */
  #open: Opened | undefined;
  /** What the total can be when it is opened again. */
  #expected: readonly Total[] = [];
  /** What was read when it was opened, until it is asked for or changes. */
  #unread: readonly StateRecord[] | undefined;
  /** The last call; the next one begins when it has ended. */
  #last: Promise<unknown> = Promise.resolve();
  #syncTimer: Timer | undefined;
  /** The sync that runs: one at a time, as each takes threads from the process while the disk hangs. */
  #syncing: Promise<void> | undefined;
  /** Something was written since the last sync began. */
  #isUnsynced = false;
  #isSyncFailed = false;
  #sinceTextLogBytes = 0;
  #closing: Promise<void> | undefined;

  constructor(options: RecordsOptions, { records, ...open }: OpenRecords) {
    this.#options = options;
    this.#open = open;
    this.#unread = records;
  }

  readAll(): Promise<readonly StateRecord[]> {
    return this.#afterLast(async () => {
      const unread = this.#unread;
      this.#unread = undefined;
      if (unread !== undefined) return unread;
      // Read as at a start: nothing of it is kept in memory.
      await this.#release();
      return await this.#reopen();
    });
  }

  get recordCount(): number {
    return this.#open?.ledger.total.count ?? 0;
  }

  write(changes: readonly StateChange[]): Promise<void> {
    return this.#afterLast(() => this.#write(changes));
  }

  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#syncTimer?.cancel();
      const timer = this.#options.clock.after(CLOSE_MS_MAX, resolve);
      void this.#afterLast(async () => {
        await this.#syncing;
        if (this.#isUnsynced) await this.#sync();
        await this.#release();
        timer.cancel();
        resolve();
      });
    });
    return this.#closing;
  }

  #afterLast<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#last.then(call);
    const ended = (): void => undefined; // the caller has the result
    this.#last = result.then(ended, ended);
    return result;
  }

  async #write(changes: readonly StateChange[]): Promise<void> {
    const open = await this.#usable();
    const { database, sealing, ledger } = open;
    const { limits } = this.#options;
    const operations: Operation[] = [];
    const entries = new Map<string, LedgerEntry | undefined>();
    for (const { key, value } of new Map(changes.map((change) => [change.key, change])).values()) {
      checkRecord({ key, value }, limits);
      const sealed = value === undefined ? undefined : sealing.seal(key, value);
      operations.push({ key, value: sealed });
      entries.set(key, sealed && { mark: markOf(sealed), sizeBytes: key.length + sealed.length });
    }
    if (operations.length === 0) return;
    const after = ledger.after(entries);
    if (after.count > limits.recordsMax) throw full(`more than ${limits.recordsMax} records`);
    if (after.sizeBytes > limits.bytesMax) throw full(`more than ${limits.bytesMax} bytes`);
    this.#unread = undefined;
    const before = ledger.total;
    for (const [key, entry] of entries) ledger.set(key, entry);
    try {
      await database.write(withTotal(sealing, ledger.total, operations), { isSynced: false });
    } catch (error) {
      await this.#release([before, ledger.total]);
      throw this.#unwritable(error);
    }
    this.#sinceTextLogBytes += operations.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
    this.#isUnsynced = true;
    this.#syncLater();
  }

  /** The open database; opened again after a failure. */
  async #usable(): Promise<Opened> {
    if (this.#isSyncFailed) await this.#release();
    if (this.#open === undefined) await this.#reopen();
    // There now, or the call above has thrown.
    return this.#open!;
  }

  /** Resolves with all records. */
  async #reopen(): Promise<readonly StateRecord[]> {
    if (this.#closing !== undefined) throw new NodeError("state-unwritable", "the state is closed");
    const { records, ...open } = await openRecords(this.#options, this.#expected).catch((error: unknown) => {
      throw this.#unwritable(error);
    });
    this.#open = open;
    if (open.setAside === undefined) return records;
    const message = `the state could not be read after a failed write, and was moved to ${open.setAside.path}`;
    throw new NodeError("state-damaged", message);
  }

  async #release(expected?: readonly Total[]): Promise<void> {
    const open = this.#open;
    if (open !== undefined) this.#expected = expected ?? [open.ledger.total];
    this.#open = undefined;
    await this.#syncing;
    this.#isSyncFailed = false;
    await open?.database.close();
  }

  #syncLater(): void {
    if (this.#closing !== undefined || this.#syncing !== undefined) return;
    this.#syncTimer ??= this.#options.clock.after(SYNC_DELAY_MS, () => void this.#sync());
  }

  /** Beside the calls of the store. Never rejects: the next write opens the database again, and says what is wrong. */
  #sync(): Promise<void> {
    this.#syncTimer = undefined;
    this.#isUnsynced = false;
    this.#syncing = this.#syncNow(this.#open).then(() => {
      this.#syncing = undefined;
      if (this.#isUnsynced) this.#syncLater();
    });
    return this.#syncing;
  }

  async #syncNow(open: Opened | undefined): Promise<void> {
    if (open === undefined) return;
    const folder = recordsFolder(this.#options.path);
    try {
      await this.#options.syncLogs(folder);
    } catch {
      this.#isSyncFailed = this.#open === open;
    }
    if (this.#sinceTextLogBytes < TEXT_LOG_INTERVAL_BYTES) return;
    this.#sinceTextLogBytes = 0;
    // Not on every system; it is small.
    await truncate(join(folder, "LOG")).catch(() => undefined);
  }

  #unwritable(error: unknown): NodeError {
    const reason = messageOf(error);
    return new NodeError("state-unwritable", `the state could not be written to ${this.#options.path}: ${reason}`, {
      cause: error,
    });
  }
}

function checkRecord({ key, value }: StateChange, { valueBytesMax }: StateLimits): void {
  if (!/^[!-~]+$/.test(key) || key.length > KEY_LENGTH_MAX) {
    throw new NodeError("internal", "a key of the state is empty, too long, or has other characters than ! to ~");
  }
  if (value !== undefined && Buffer.byteLength(value) > valueBytesMax) {
    throw full(`a value of more than ${valueBytesMax} bytes`);
  }
}

function full(what: string): NodeError {
  return new NodeError("state-full", `the state does not hold ${what}`);
}
