// Reads and writes the records that name the owners of sessions, once this machine is a part of the cluster. Main thread;
// part of session-claims.ts.

import type { Bucket } from "../../cluster/bucket.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import { ownerKey, ownerValue, readHome, type SessionDirectory, type SessionHome } from "./session-directory.ts";

const WRITE_TIMEOUT_MS = 3000;
/** A client that comes before the cluster is joined waits so long. */
const JOIN_WAIT_MS = 3000;

interface OwnerRecordsOptions {
  readonly bucket: Pick<Bucket, "write" | "get">;
  readonly membership: Pick<Membership, "self" | "guard" | "isNatsAway" | "status" | "onFenced">;
  /** Learns what is read. */
  readonly directory: Pick<SessionDirectory, "learn" | "forget">;
  readonly clock: Clock;
}

export class OwnerRecords {
  readonly #options: OwnerRecordsOptions;
  readonly #joined = new Set<() => void>();

  constructor(options: OwnerRecordsOptions) {
    this.#options = options;
  }

  /** This machine is part of the cluster from now on. */
  onJoined(): void {
    for (const resolve of this.#joined) resolve();
  }

  /**
   * This machine, once it is part of the cluster.
   * @throws NodeError "cluster-away"
   */
  async untilJoined(): Promise<{ readonly id: string }> {
    const { membership, clock } = this.#options;
    if (membership.self === undefined) {
      let onJoined = (): void => undefined;
      const joined = new Promise<void>((resolve) => {
        onJoined = resolve;
      });
      this.#joined.add(onJoined);
      await Promise.race([joined, pause(clock, JOIN_WAIT_MS)]);
      this.#joined.delete(onJoined);
    }
    const { self, status } = membership;
    if (self !== undefined && !membership.isNatsAway) return self;
    throw away("reason" in status ? status.reason : "this machine is not part of it");
  }

  /**
   * Where a session is; undefined: nowhere.
   * @throws NodeError "cluster-away"
   */
  async read(sessionId: string): Promise<SessionHome | undefined> {
    await this.untilJoined();
    const { bucket, directory } = this.#options;
    const entry = await bucket.get(ownerKey(sessionId));
    const home = entry && readHome(entry);
    if (home !== undefined) directory.learn(sessionId, home);
    else directory.forget(sessionId, entry?.revision);
    return home;
  }

  /**
   * Makes a machine the owner of a session, if the record has the revision `expected`. Resolves with the new one.
   * @throws NodeError "cluster-conflict"; "cluster-away": it may have been written
   */
  async write(sessionId: string, machineId: string, expected: number): Promise<number> {
    const { membership, bucket } = this.#options;
    const { guard } = membership;
    if (guard === undefined) throw away("this machine is not part of it");
    const change = { key: ownerKey(sessionId), value: ownerValue(machineId), expected };
    try {
      const [revision] = await bucket.write([change], { guard, timeoutMs: WRITE_TIMEOUT_MS });
      if (revision === undefined) throw new Error("a write has no revision");
      return revision;
    } catch (error) {
      const code = error instanceof NodeError ? error.code : undefined;
      if (code === "cluster-fenced") membership.onFenced(guard);
      if (code === "cluster-fenced") throw away("the others have taken this machine for dead");
      if (code === "state-full") throw noRoom("session");
      throw error;
    }
  }
}

/** What depends on the other machines cannot be done now. */
export function away(reason: string): NodeError {
  return new NodeError("cluster-away", `the other machines of the cluster cannot be reached: ${reason}`);
}

/** There is no room for a record of that, and may be some in a moment. */
export function noRoom(what: string): NodeError {
  return new NodeError(
    "cluster-away",
    `the bucket of the cluster has no room for one more ${what}: raise max_bytes of its stream in NATS`,
  );
}
