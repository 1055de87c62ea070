// The store of a machine in a cluster: the bucket that all share, written under the guard of the id of this machine. A
// write is repeated until it is known to be done, or can no longer count. Below src/control/state/. Main thread.

import { NodeError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { pause } from "../lib/pause.ts";
import {
  STATE_LIMITS,
  type StateChange,
  type StateLimits,
  type StateRecord,
  type StateStore,
} from "../state/state-store.ts";
import type { Bucket, BucketGuard } from "./bucket.ts";
import { RETRY_MS } from "./lease-times.ts";
import type { Membership } from "./membership.ts";

const WRITE_MS_MAX = 2000;
/** Records of a session; all others under its id belong to the cluster. */
export const SESSION_KINDS: ReadonlySet<string> = new Set([
  ...["session", "player", "track", "message", "kept"],
  ...["place", "relay"],
]);
/** A server that is further behind than this is not asked; marks of removed records are gone after twice the time. */
const BEHIND_MS_MAX = 30_000;
const SESSION_ID = /^[A-Za-z0-9_-]+$/;

interface ClusterStoreOptions {
  readonly bucket: Pick<Bucket, "write" | "read">;
  readonly membership: Pick<Membership, "guard" | "isNatsAway" | "lostCount" | "onFenced">;
  readonly clock: Clock;
  /** Of the records that this machine has written. Default: `STATE_LIMITS`. */
  readonly limits?: StateLimits;
}

/** One for the node. */
export class ClusterStore implements StateStore {
  readonly #options: ClusterStoreOptions;
  /** The size in bytes of each record that was written under the id of now, by session and key. */
  #written = new Map<string, Map<string, number>>();
  #count = 0;
  #sizeBytes = 0;
  /** The last write, which a server that is asked must have reached, and when it was done. */
  #last: { readonly guard: BucketGuard; readonly nowMs: number } | undefined;
  /** How often an id had been lost when they were written. */
  #lostCount = 0;
  #isClosed = false;

  constructor(options: ClusterStoreOptions) {
    this.#options = options;
  }

  /** Records that were written under the id of now, and neither removed nor forgotten. */
  get recordCount(): number {
    this.#forgetLost();
    return this.#count;
  }

  /** Nothing: sessions are read one by one, with `readSession`. */
  async readAll(): Promise<readonly StateRecord[]> {
    return [];
  }

  /**
   * As in `StateStore`; waits for NATS as long as this machine may hold its lease.
   * @throws NodeError
   *   - "cluster-fenced": this machine has lost the id under which it began to write
   *   - "state-unwritable": NATS is away for all. It may have been written; give the changes again later.
   *   - "state-full": as in `StateStore`
   */
  async write(changes: readonly StateChange[]): Promise<void> {
    this.#forgetLost();
    const last = new Map(changes.map(({ key, value }) => [key, value]));
    this.#checkRoom(last);
    const lostCount = this.#lostCount;
    const batch = Array.from(last, ([key, value]) => ({ key, value }));
    while (!(await this.#isWritten(batch, lostCount))) await pause(this.#options.clock, RETRY_MS);
    if (lostCount !== this.#options.membership.lostCount) return;
    for (const [key, value] of last) this.#set(key, value);
  }

  /**
   * The records of a session, without that of its owner, by key. They are as they are once the record `atLeast.key` has
   * that revision, with all that this machine has written.
   * @throws NodeError "cluster-away"
   */
  async readSession(id: string, atLeast: BucketGuard): Promise<readonly StateRecord[]> {
    if (!SESSION_ID.test(id)) return [];
    const { bucket, clock } = this.#options;
    const isRecent = this.#last !== undefined && clock.now() - this.#last.nowMs < BEHIND_MS_MAX;
    const own = isRecent ? this.#last?.guard : undefined;
    const newest = own !== undefined && own.revision > atLeast.revision ? own : atLeast;
    const entries = await bucket.read([`*/${id}`, `*/${id}/>`], { atLeast: newest });
    return entries
      .flatMap(({ key, value }) => (value !== undefined && isOfSession(key) ? [{ key, value }] : []))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** The records with these keys belong to another machine now. */
  forget(keys: readonly string[]): void {
    for (const key of keys) this.#set(key, undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  /** One attempt. False: it may have been written, and is to be tried again. */
  async #isWritten(batch: readonly StateChange[], lostCount: number): Promise<boolean> {
    const { bucket, membership, clock } = this.#options;
    if (this.#isClosed) throw new NodeError("state-unwritable", "the store is closed");
    if (membership.lostCount !== lostCount) throw fenced();
    if (membership.isNatsAway) {
      throw new NodeError("state-unwritable", "NATS is away: most of its servers refuse connections; start them again");
    }
    const { guard } = membership;
    // It has not joined yet, or is about to find out that it has lost its id.
    if (guard === undefined) return false;
    try {
      const revisions = await bucket.write(batch, { guard, timeoutMs: WRITE_MS_MAX });
      const key = batch.at(-1)?.key;
      const revision = revisions.at(-1);
      if (key !== undefined && revision !== undefined) this.#last = { guard: { key, revision }, nowMs: clock.now() };
      return true;
    } catch (error) {
      const code = error instanceof NodeError ? error.code : undefined;
      if (code === "cluster-away") return false;
      if (code !== "cluster-fenced") throw error;
      membership.onFenced(guard);
      throw fenced(error);
    }
  }

  /** @throws NodeError "state-full" */
  #checkRoom(changes: ReadonlyMap<string, string | undefined>): void {
    const { recordsMax, bytesMax, valueBytesMax } = this.#options.limits ?? STATE_LIMITS;
    let count = this.#count;
    let sizeBytes = this.#sizeBytes;
    for (const [key, value] of changes) {
      const before = this.#written.get(sessionOf(key))?.get(key);
      count += Number(value !== undefined) - Number(before !== undefined);
      sizeBytes += sizeOf(key, value) - (before ?? 0);
      if (Buffer.byteLength(value ?? "") > valueBytesMax) {
        throw new NodeError("state-full", `the record ${key} has more than ${valueBytesMax} bytes`);
      }
    }
    const isMore = count > this.#count || sizeBytes > this.#sizeBytes;
    if (isMore && (count > recordsMax || sizeBytes > bytesMax)) {
      throw new NodeError("state-full", `this machine may store ${recordsMax} records with ${bytesMax} bytes`);
    }
  }

  #set(key: string, value: string | undefined): void {
    const session = sessionOf(key);
    const records = this.#written.get(session) ?? new Map<string, number>();
    const before = records.get(key);
    this.#count += Number(value !== undefined) - Number(before !== undefined);
    this.#sizeBytes += sizeOf(key, value) - (before ?? 0);
    if (value === undefined) records.delete(key);
    else records.set(key, sizeOf(key, value));
    if (records.size > 0) this.#written.set(session, records);
    else this.#written.delete(session);
  }

  /** What was written under an id that is lost belongs to others. */
  #forgetLost(): void {
    const { lostCount } = this.#options.membership;
    if (lostCount === this.#lostCount) return;
    this.#lostCount = lostCount;
    this.#written = new Map();
    this.#count = 0;
    this.#sizeBytes = 0;
  }
}

function fenced(cause?: unknown): NodeError {
  return new NodeError("cluster-fenced", "this machine has lost its id in the cluster, and its sessions with it", {
    cause,
  });
}

function sessionOf(key: string): string {
  return key.split("/", 2)[1] ?? "";
}

function isOfSession(key: string): boolean {
  return SESSION_KINDS.has(key.split("/", 1)[0] ?? "");
}

function sizeOf(key: string, value: string | undefined): number {
  return value === undefined ? 0 : key.length + Buffer.byteLength(value);
}
