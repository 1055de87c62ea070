// Ends sessions that have players here when their gateway has died and there is no other one that could take them: as long
// as a gateway would have waited for their clients, and a little longer. Main thread; part of remote-sessions.ts.
//
// A session is ended by the removal of its owner record, in the revision in which it is the dead machine's: a gateway that
// comes in the same moment has it, or it has ended for all. Every machine with players of it sees that, and record-sweep.ts
// removes what the gateway had stored.

import { z } from "zod";
import type { Bucket } from "../../cluster/bucket.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { recordKey } from "../state/session-records.ts";
import { readJson } from "./read-json.ts";
import { ownerKey, type SessionDirectory, type SessionHome } from "./session-directory.ts";

/** A gateway that is started again has so long to take its sessions, beyond what they wait for their clients. */
export const NO_GATEWAY_MS = 60_000;
const WRITE_TIMEOUT_MS = 3000;

/** What is of interest of `sessionRecord`; the time may be longer than an integer can say. */
const waitingRecord = z.looseObject({ timeout: z.number(), deadlineEpochMs: z.number().nullable() });

interface NoGatewayOptions {
  readonly bucket: Pick<Bucket, "get" | "write">;
  readonly membership: Pick<
    Membership,
    "self" | "guard" | "machines" | "isAlive" | "isCaughtUp" | "isNatsAway" | "clockOffsetMs" | "onFenced"
  >;
  readonly directory: Pick<SessionDirectory, "homes">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A session without a gateway. */
interface Waiting {
  readonly sinceMs: number;
  /** Undefined: how long its client may be away has not been read yet. */
  untilMs: number | undefined;
}

export class NoGateway {
  readonly #options: NoGatewayOptions;
  /** By session id. */
  #waiting: ReadonlyMap<string, Waiting> = new Map();
  #isEnding = false;

  constructor(options: NoGatewayOptions) {
    this.#options = options;
  }

  /** Looks at the sessions that have players here; to be called again and again. */
  check(sessionIds: Iterable<string>): void {
    const waiting = new Map<string, Waiting>();
    if (!this.#isGatewayThere) {
      const sinceMs = this.#options.clock.now();
      for (const id of sessionIds) {
        if (this.#orphaned(id) !== undefined) waiting.set(id, this.#waiting.get(id) ?? { sinceMs, untilMs: undefined });
      }
    }
    this.#waiting = waiting;
    if (waiting.size > 0 && !this.#isEnding) void this.#endDue();
  }

  /** Or it cannot be known that there is none. */
  get #isGatewayThere(): boolean {
    const { membership } = this.#options;
    if (membership.self === undefined || !membership.isCaughtUp || membership.isNatsAway) return true;
    return membership.machines.some(({ roles }) => roles.includes("gateway"));
  }

  /** Where it was, if that machine is dead. */
  #orphaned(id: string): SessionHome | undefined {
    const home = this.#options.directory.homes.get(id);
    return home === undefined || this.#options.membership.isAlive(home.machineId) ? undefined : home;
  }

  /** One after the other; never rejects. */
  async #endDue(): Promise<void> {
    const { clock, logger } = this.#options;
    this.#isEnding = true;
    let sessions = 0;
    try {
      for (const [id, waiting] of this.#waiting) {
        if (clock.now() - waiting.sinceMs < NO_GATEWAY_MS) continue;
        waiting.untilMs ??= await this.#untilMs(id, waiting.sinceMs);
        const home = this.#orphaned(id);
        if (clock.now() < waiting.untilMs || home === undefined || this.#isGatewayThere) continue;
        if (await this.#end(id, home)) sessions++;
      }
    } catch (error) {
      const level = error instanceof NodeError ? "debug" : "error";
      logger[level]("cluster: sessions without a gateway could not be ended yet", { error });
    }
    this.#isEnding = false;
    if (sessions > 0)
      logger.warn("cluster: sessions were ended: no gateway has taken them in time. Start one", { sessions });
  }

  /** @throws NodeError "cluster-away" */
  async #untilMs(id: string, sinceMs: number): Promise<number> {
    const { bucket, clock, membership } = this.#options;
    const { value } = (await bucket.get(recordKey.session(id))) ?? {};
    const { data } = waitingRecord.safeParse(value === undefined ? undefined : readJson(value));
    // Its client was not to come back.
    if (data === undefined) return sinceMs + NO_GATEWAY_MS;
    const { timeout, deadlineEpochMs } = data;
    if (deadlineEpochMs === null) return sinceMs + Number(timeout) * 1000 + NO_GATEWAY_MS;
    const leftMs = deadlineEpochMs - (clock.epochMs() + membership.clockOffsetMs);
    return Math.max(sinceMs, clock.now() + leftMs) + NO_GATEWAY_MS;
  }

  /** False: another machine was first. @throws NodeError when nothing can be ended now */
  async #end(id: string, { revision }: SessionHome): Promise<boolean> {
    const { bucket, membership } = this.#options;
    const { guard } = membership;
    if (guard === undefined) throw new NodeError("cluster-away", "this machine is not part of it");
    try {
      const change = { key: ownerKey(id), value: undefined, expected: revision };
      await bucket.write([change], { guard, timeoutMs: WRITE_TIMEOUT_MS });
      return true;
    } catch (error) {
      const code = error instanceof NodeError ? error.code : undefined;
      if (code === "cluster-conflict") return false;
      if (code === "cluster-fenced") membership.onFenced(guard);
      throw error;
    }
  }
}
