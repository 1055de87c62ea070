// Removes what is left of sessions that have ended: a machine that dies while it removes the records of one leaves some,
// and nobody looks for records without an owner. One machine of the cluster does it, now and then. Main thread; one for the
// node.
//
// A session has an owner record from its first moment to its last one, wherever it goes, and never gets another one. Only a
// session that two clients had opened at once may be without it for some seconds, so a session is left behind when it was
// found so twice, minutes apart. What is removed then is removed in one write with the condition that there is no owner
// record at that moment, whatever this machine has seen.

import type { Bucket, BucketChange, BucketGuard } from "../../cluster/bucket.ts";
import { SESSION_KINDS } from "../../cluster/cluster-store.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { chosenFor } from "./rendezvous.ts";
import { ownerKey, type SessionDirectory } from "./session-directory.ts";

/** From one sweep to the next, and so the least time for which a session is seen without an owner. */
export const SWEEP_MS = 300_000;
const WRITE_TIMEOUT_MS = 3000;
/** Of one write: those that clients wait for come between two. */
const KEYS_OF_WRITE_MAX = 200;
/** Of all sessions together; the rest comes with the next sweeps. */
const KEYS_MAX = 100_000;

interface RecordSweepOptions {
  readonly bucket: Pick<Bucket, "list" | "write">;
  readonly membership: Pick<Membership, "self" | "guard" | "peers" | "isCaughtUp" | "isNatsAway" | "onFenced">;
  readonly directory: Pick<SessionDirectory, "homes" | "isComplete">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Records of a session, as many as one write takes at most. */
interface Left {
  readonly sessionId: string;
  readonly keys: readonly string[];
}

export class RecordSweep {
  readonly #options: RecordSweepOptions;
  /** Sessions without an owner that the last sweep has found. */
  #found: ReadonlySet<string> = new Set();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: RecordSweepOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isClosed) return;
    this.#timer = this.#options.clock.after(SWEEP_MS, () => void this.#sweep().finally(() => this.start()));
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** Never rejects. */
  async #sweep(): Promise<void> {
    const foundBefore = this.#found;
    this.#found = new Set();
    if (!this.#isTurn) return;
    let records = 0;
    try {
      const found = await this.#ownerless();
      this.#found = new Set(found.keys());
      const left = [...found].filter(([sessionId]) => foundBefore.has(sessionId));
      for (const group of groupsOf(left)) records += await this.#remove(group);
    } catch (error) {
      const level = error instanceof NodeError ? "debug" : "error";
      this.#options.logger[level]("cluster: records without a session could not be removed yet", { error });
    }
    const message = "cluster: records were removed that had been left by sessions that have ended";
    if (records > 0) this.#options.logger.info(message, { records });
  }

  get #isTurn(): boolean {
    const { membership, directory } = this.#options;
    const { self } = membership;
    if (self === undefined || !membership.isCaughtUp || membership.isNatsAway || !directory.isComplete) return false;
    const ids = membership.peers().map(({ id }) => id);
    return chosenFor("sweep", ids) === self.id;
  }

  /** The keys of records of sessions of which no owner is known, by session id. */
  async #ownerless(): Promise<ReadonlyMap<string, readonly string[]>> {
    const { bucket, directory } = this.#options;
    const found = new Map<string, string[]>();
    let count = 0;
    const patterns = Array.from(SESSION_KINDS, (kind) => `${kind}/>`);
    await bucket.list(patterns, (key) => {
      const sessionId = key.split("/", 2)[1] ?? "";
      if (directory.homes.has(sessionId) || count >= KEYS_MAX) return;
      count++;
      const keys = found.get(sessionId);
      if (keys === undefined) found.set(sessionId, [key]);
      else keys.push(key);
    });
    return found;
  }

  /**
   * Resolves with their number, without those of sessions that have an owner.
   * @throws NodeError when nothing more can be removed now
   */
  async #remove(group: readonly Left[]): Promise<number> {
    const { guard } = this.#options.membership;
    if (this.#isClosed || guard === undefined) throw new NodeError("cluster-away", "this machine has left it");
    const changes = group.flatMap(({ sessionId, keys }): readonly BucketChange[] => [
      // There is none: this only makes the write depend on that.
      { key: ownerKey(sessionId), value: undefined, expected: 0 },
      ...keys.map((key) => ({ key, value: undefined })),
    ]);
    if (await this.#isWritten(changes, guard)) return changes.length - group.length;
    let count = 0;
    if (group.length > 1) for (const left of group) count += await this.#remove([left]);
    return count;
  }

  /** False: a condition was not met. */
  async #isWritten(changes: readonly BucketChange[], guard: BucketGuard): Promise<boolean> {
    const { bucket, membership } = this.#options;
    try {
      await bucket.write(changes, { guard, timeoutMs: WRITE_TIMEOUT_MS });
      return true;
    } catch (error) {
      const code = error instanceof NodeError ? error.code : undefined;
      if (code === "cluster-conflict") return false;
      if (code === "cluster-fenced") membership.onFenced(guard);
      throw error;
    }
  }
}

/** Each is one write; none has two of one session. */
function groupsOf(
  found: readonly (readonly [sessionId: string, keys: readonly string[]])[],
): readonly (readonly Left[])[] {
  const groups: Left[][] = [[]];
  let count = 0;
  for (const [sessionId, all] of found) {
    for (let start = 0; start < all.length; start += KEYS_OF_WRITE_MAX) {
      const keys = all.slice(start, start + KEYS_OF_WRITE_MAX);
      count += keys.length;
      if (count > KEYS_OF_WRITE_MAX) {
        groups.push([]);
        count = keys.length;
      }
      groups.at(-1)?.push({ sessionId, keys });
    }
  }
  return groups.filter(({ length }) => length > 0);
}
